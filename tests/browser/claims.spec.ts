// The page of claims and the pages of experiments, which are made of data.
import AxeBuilder from "@axe-core/playwright";

import { Reader, expect, test } from "./reader.js";

for (const { address, words } of [
  { address: "/book/en/claims.html", words: ["The chapter says", "wrong", "Recorded"] },
  { address: "/book/zh/claims.html", words: ["书中说", "不对", "录得"] },
])
  test(`${address} says of each claim what was recorded`, async ({ page }) => {
    await page.goto(address);
    const claim = page.locator("#idempotence-since-2-0");
    for (const word of words) await expect(claim).toContainText(word);
    await expect(claim).toContainText("2.8.2: false");
    await expect(claim).toContainText("3.0.1: true");
  });

test("a claim's lab opens in its place when the reader asks for it, and not before", async ({ page }) => {
  await page.goto("/book/en/claims.html");
  await expect(page.locator("step-lab")).toHaveCount(0);
  const claim = page.locator("#acks-0-loses-silently");
  await claim.getByText("Step through it").click();
  const lab = claim.locator('step-lab[experiment="acks-0"]');
  await expect(lab.getByRole("button", { name: "Play" })).toBeVisible();
  await expect(page.locator("step-lab")).toHaveCount(1);
});

for (const scheme of ["light", "dark"] as const)
  test(`axe finds nothing to complain about among the claims, ${scheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto("/book/en/claims.html");
    const { violations } = await new AxeBuilder({ page }).include("main").analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`)).toEqual([]);
  });

test("on a phone of 360 px the claims do not scroll sideways", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto("/book/en/claims.html");
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(overflow).toBeLessThanOrEqual(360);
});

test("every experiment of the list has a page with its lab, in both languages", async ({ page }) => {
  await page.goto("/book/en/experiments.html");
  const links = page.locator("main li a");
  expect(await links.count()).toBeGreaterThanOrEqual(5);
  const addresses = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  for (const address of addresses) {
    const there = await page.request.get(`/book/en/${address}`);
    expect(there.ok(), address ?? "").toBe(true);
    expect((await page.request.get(`/book/zh/${address}`)).ok(), address ?? "").toBe(true);
  }
  const reader = await Reader.opens(page, "/book/en/experiments/hello.html", "hello");
  await expect(reader.button("Play")).toBeVisible();
  await page.locator(".languages a").click();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh");
  await expect(page.getByRole("heading", { level: 1 }).first()).not.toHaveText("");
});
