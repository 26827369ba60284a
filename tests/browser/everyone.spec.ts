// For every reader: keyboard, screen reader, phone, dark and light, 中文, no motion.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import AxeBuilder from "@axe-core/playwright";

import { Reader, expect, test } from "./reader.js";

test("the keyboard does everything, and the book does not turn its page", async ({ page }) => {
  const reader = await Reader.opens(page);
  const address = page.url();
  await reader.button("Play").focus();
  const start = await reader.standing();
  await page.keyboard.press("ArrowRight");
  expect(await reader.standing()).not.toEqual(start);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("m");
  await expect(reader.button("Forward one moment")).toBeVisible();
  await page.keyboard.press("ArrowRight");
  expect(await reader.us()).toBe(3_000_000);
  await page.keyboard.press("End");
  await expect(reader.lab.getByRole("slider")).toHaveAttribute("aria-valuetext", /of/);
  await expect(reader.lab.locator("step-facts .holds").first()).toBeVisible();
  await page.keyboard.press("Home");
  expect(await reader.us()).toBe(0);
  await page.keyboard.press("+");
  await expect(reader.lab.getByRole("combobox", { name: "Pace" })).toHaveValue("even-fast");
  await page.keyboard.press("b");
  await expect(reader.lab.getByRole("checkbox", { name: "background" })).toBeChecked();
  await reader.lab.locator("step-diagram").getByRole("listbox").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press(" ");
  await expect(reader.button("Pause")).toBeVisible();
  await page.keyboard.press(" ");
  await reader.lab.locator("step-question").getByRole("textbox").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.type("s/?");
  expect(page.url()).toBe(address);
});

test("arrow keys choose frames, cells and tabs where these have the focus", async ({ page }) => {
  const reader = await Reader.opens(page);
  const diagram = reader.lab.locator("step-diagram").getByRole("listbox");
  await diagram.focus();
  await page.keyboard.press("ArrowUp");
  await expect(diagram).toHaveAttribute("aria-activedescendant", /frame-\d+/);
  await expect(reader.lab.locator("step-inspector").getByRole("heading").first()).toContainText("Produce");
  await reader.lab.locator("step-log .cell[tabindex='0']").focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await expect(reader.lab.locator("step-log .cell[aria-selected=true]")).toHaveCount(1);
  await reader.lab.getByRole("tab", { selected: true }).first().focus();
  await page.keyboard.press("ArrowRight");
  await expect(reader.lab.getByRole("tab", { name: "Java" }).first()).toHaveAttribute("aria-selected", "true");
});

test("what happens is told in words, in a region that speaks only while the run stands", async ({ page }) => {
  const reader = await Reader.opens(page);
  const caption = reader.lab.locator(".caption");
  await expect(caption).toHaveAttribute("aria-live", "polite");
  await reader.seek(3.1);
  await reader.button("Forward one event").click();
  expect((await reader.caption()).length).toBeGreaterThan(5);
  await reader.button("Play").click();
  await expect(caption).toHaveAttribute("aria-live", "off");
});

for (const { address, scheme } of [
  { address: "/book/en/acks.html", scheme: "light" },
  { address: "/book/zh/acks.html", scheme: "dark" },
] as const) {
  test(`axe finds nothing to complain about in ${address}, ${scheme}`, async ({ page }) => {
    test.slow();
    await page.emulateMedia({ colorScheme: scheme });
    const reader = await Reader.opens(page, address);
    await reader.seek(3.4);
    await reader.cells("lost").first().click();
    await reader.lab.locator("step-diagram").getByRole("listbox").press("ArrowUp");
    const { violations } = await new AxeBuilder({ page }).include('step-lab[experiment="acks-0"]').analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`)).toEqual([]);
  });
}

test("on a phone of 360 px nothing scrolls sideways, and diagram and controls are on screen together", async ({
  page,
}) => {
  await page.setViewportSize({ width: 360, height: 740 });
  const reader = await Reader.opens(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  // What lies above may still be settling: a reader scrolls again.
  await expect(async () => {
    await reader.lab.locator(".stage").evaluate((stage) => stage.scrollIntoView({ block: "start" }));
    await expect(reader.lab.locator("step-diagram")).toBeInViewport({ ratio: 0.99, timeout: 500 });
  }).toPass();
  for (const name of ["Back one event", "Play", "Forward one event"])
    await expect(reader.button(name)).toBeInViewport({ ratio: 1 });
  await expect(reader.lab.getByRole("slider")).toBeInViewport({ ratio: 1 });
});

test("the lab is light or dark as the reader's system is, and as the book's theme is", async ({ page }) => {
  const lightness = (reader: Reader): Promise<number> =>
    reader.lab.locator("section.lab").evaluate((lab) => {
      const [red = 0, green = 0, blue = 0] = getComputedStyle(lab).backgroundColor.match(/\d+/g)?.map(Number) ?? [];
      return red + green + blue;
    });
  await page.emulateMedia({ colorScheme: "light" });
  const reader = await Reader.opens(page);
  expect(await lightness(reader)).toBeGreaterThan(600);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.reload();
  await reader.lab.locator(".caption time").waitFor();
  expect(await lightness(reader)).toBeLessThan(200);
  await page.evaluate(() => document.documentElement.classList.replace("navy", "light"));
  expect(await lightness(reader)).toBeGreaterThan(600);
});

test("中文一章里的实验说中文", async ({ page }) => {
  const reader = await Reader.opens(page, "/book/zh/acks.html");
  await expect(reader.button("播放")).toBeVisible();
  await expect(reader.lab.locator("step-question").getByRole("button", { name: "运行到结尾" })).toBeVisible();
  await reader.button("到结尾").click();
  await reader.cells("lost").first().click();
  await expect(reader.lab.locator("step-why")).toContainText("因为");
  const words = await reader.lab.evaluate((lab) => {
    const texts: string[] = [];
    const walk = (root: Node): void => {
      if (root instanceof HTMLElement && root.shadowRoot) walk(root.shadowRoot);
      if (root instanceof HTMLStyleElement) return;
      if (root instanceof Text) texts.push(root.data);
      root.childNodes.forEach(walk);
    };
    if (lab.shadowRoot) walk(lab.shadowRoot);
    return texts.join(" ");
  });
  expect(words).not.toMatch(/\b(because|reported|background|guess|the|of)\b/);
});

test("two labs on one page may speak two languages", async ({ page }) => {
  const reader = await Reader.opens(page);
  await reader.lab.evaluate((lab) => lab.setAttribute("lang", "zh"));
  await expect(reader.button("播放")).toBeVisible();
  await expect(page.locator("step-lab").nth(1).getByRole("button", { name: "Play" })).toBeVisible();
});

test("a reader who wants no motion is at the end at once", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  const reader = await Reader.opens(page);
  await reader.lab.locator("step-question").getByRole("button", { name: "Run to the end" }).click();
  await expect(reader.button("Play")).toBeVisible();
  await expect(reader.lab.locator("step-facts .holds").first()).toBeVisible();
});

test("the script fits its budget of 60 KB", () => {
  const script = readFileSync(new URL("../../www/dist/step-lab.js", import.meta.url));
  expect(gzipSync(script, { level: 9 }).length).toBeLessThanOrEqual(60 * 1024);
});
