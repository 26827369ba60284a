// What a reader finds out: facts, fates, causes, bytes.
import { Reader, expect, test } from "./reader.js";

test("acks-0 ends with the facts that must hold, and prose and table agree", async ({ page }) => {
  const reader = await Reader.opens(page);
  await reader.runsToTheEnd();
  const figure = async (name: string): Promise<number> =>
    Number(await page.locator(`step-fact[experiment="acks-0"][name="${name}"] span`).first().innerText());
  const [sent, ok, failed, landed, lost] = [
    await figure("sent"),
    await figure("ok"),
    await figure("failed"),
    await figure("landed"),
    await figure("lost"),
  ];
  expect(sent).toBe(400);
  expect(ok + failed).toBe(400);
  expect(lost).toBe(ok - landed);
  expect(lost).toBeGreaterThanOrEqual(1);
  expect(failed).toBeGreaterThanOrEqual(3);
  expect(await figure("offset_minus_one")).toBe(ok);
  const table = [...(await reader.facts()).values()];
  for (const value of [sent, ok, failed, landed, lost]) expect(table).toContain(String(value));
  await expect(reader.lab.locator("step-facts .broken")).toHaveCount(0);
  await expect(reader.cells("lost")).toHaveCount(lost);
  await expect(reader.cells("failed")).toHaveCount(failed);
  await expect(reader.cells("ok")).toHaveCount(landed);
});

test("acks=1 and acks=all lose nothing that was reported ok, and the patient producer loses and fails nothing", async ({
  page,
}) => {
  await Reader.opens(page);
  const figure = (experiment: string, name: string): Promise<string> =>
    page.locator(`step-fact[experiment="${experiment}"][name="${name}"] span`).first().innerText();
  for (const experiment of ["acks-1", "acks-all"]) {
    await expect.poll(() => figure(experiment, "lost")).toBe("0");
    expect(Number(await figure(experiment, "failed"))).toBeGreaterThan(0);
  }
  await expect.poll(() => figure("acks-0-prevented", "lost")).toBe("0");
  expect(await figure("acks-0-prevented", "failed")).toBe("0");
});

test("a guess is compared with what happened, and the book's figures are uncovered", async ({ page }) => {
  const reader = await Reader.opens(page);
  const question = reader.lab.locator("step-question");
  for (const field of await question.getByRole("textbox").all()) await field.fill("400");
  await question.getByRole("button", { name: "Run to the end" }).click();
  await expect(question.getByRole("table")).toBeVisible({ timeout: 30_000 });
  await expect(question).toContainText("Not as you guessed");
  await expect(question.locator(".off").first()).toHaveText("400");
  await expect(reader.lab.locator("step-facts .book").filter({ hasText: "393" }).first()).toBeVisible();
});

test("an experiment that packs loads the codecs, and its question does not give the answer away", async ({ page }) => {
  const reader = await Reader.opens(page, "/book/en/experiments/compression.html", "compression");
  const question = reader.lab.locator("step-question");
  await expect(question.getByRole("textbox")).toHaveCount(2);
  await expect(question).toContainText("bytes with zstd");
  await expect(question).not.toContainText("1915");
  for (const field of await question.getByRole("textbox").all()) await field.fill("400");
  await question.getByRole("button", { name: "Run to the end" }).click();
  // What Kafka's own zstd makes of the same records is 1915 bytes; a tenth more or less is said to be right.
  const zstd = question.getByRole("row", { name: "bytes with zstd" }).getByRole("cell").nth(1);
  await expect(zstd).toBeVisible({ timeout: 30_000 });
  expect(Math.abs(parseInt((await zstd.innerText()).replace(/\D/g, ""), 10) - 1915)).toBeLessThanOrEqual(191);
});

test("a lost record says why in links, each of which jumps to its instant", async ({ page }) => {
  const reader = await Reader.opens(page);
  await reader.runsToTheEnd();
  await reader.cells("lost").first().click();
  const why = reader.lab.locator("step-why");
  await expect(why.locator("h3")).toContainText("was reported ok and is in no log");
  const links = why.locator("li");
  await expect(why).toContainText("died unread");
  await expect(why).toContainText(/was killed|stopped reading/);
  await expect(why).toContainText("called send()");
  for (const link of await links.all()) {
    const told = await link.locator("time").innerText();
    await link.getByRole("button").click();
    await expect(reader.lab.locator(".caption time")).toHaveText(told);
  }
});

test("a lost frame ends half-way in a cross", async ({ page }) => {
  const reader = await Reader.opens(page);
  await reader.runsToTheEnd();
  await reader.cells("lost").last().click();
  await reader.lab.locator("step-why li").filter({ hasText: "died unread" }).getByRole("button").click();
  const [from, to, cross] = await reader.lab.locator("step-diagram").evaluate((diagram) => {
    const x = (selector: string): number => {
      const box = diagram.shadowRoot?.querySelector(selector)?.getBoundingClientRect();
      return box ? box.left + box.width / 2 : NaN;
    };
    return [x(".lane:not(.ahead)"), x(".lane-off"), x(".frame.lost .cross")];
  });
  expect(Math.abs((cross ?? NaN) - ((from ?? NaN) + (to ?? NaN)) / 2)).toBeLessThan(3);
});

test("fields and bytes of a frame light each other up", async ({ page }) => {
  const reader = await Reader.opens(page);
  await reader.lab.locator("step-diagram .frame .tip").last().click({ force: true });
  const inspector = reader.lab.locator("step-inspector");
  await expect(inspector.locator("h3")).toContainText("Produce");
  const acks = inspector.locator(".field").filter({ has: page.locator(".name", { hasText: /^acks$/ }) });
  await acks.hover();
  const lit = inspector.locator(".byte.lit");
  await expect(lit).toHaveText(["00", "00"]);
  await inspector.locator(".byte").first().hover();
  await expect(acks).not.toHaveClass(/lit/);
  await lit.first().hover();
  await expect(inspector.locator(".field.lit")).toHaveCount(1);
  const fields = inspector.getByRole("listbox", { name: "Fields" });
  await fields.focus();
  await fields.press("ArrowDown");
  await expect(inspector.locator(".field.lit")).toHaveCount(1);
});

test("a log shows its segment file as bytes and fields", async ({ page }) => {
  const reader = await Reader.opens(page, "/?experiment=hello", "hello");
  await reader.runsToTheEnd();
  await reader.lab.locator("step-log").getByRole("button", { name: "file" }).click();
  const inspector = reader.lab.locator("step-inspector");
  await expect(inspector.locator("h3")).toContainText("Segment file");
  const offsets = inspector.locator(".field").filter({ has: page.locator(".name", { hasText: /^base_offset$/ }) });
  await expect(offsets.locator(".value")).toHaveText(["0", "1", "2"]);
});
