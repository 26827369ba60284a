// A reader steps through a chapter's experiment.
import { Reader, expect, test } from "./reader.js";

test("a chapter opens paused, just before the fall, with the book's figures covered", async ({ page }) => {
  const reader = await Reader.opens(page);
  expect(await reader.us()).toBeLessThan(3_000_000);
  expect(await reader.us()).toBeGreaterThan(2_900_000);
  await expect(reader.button("Play")).toBeVisible();
  const book = await reader.lab.locator("step-facts tbody .book").allInnerTexts();
  expect(new Set(book.map((text) => text.trim()))).toEqual(new Set(["?"]));
  await page.waitForTimeout(300);
  expect(await reader.us(), "time stands still").toBeLessThan(3_000_000);
});

test("a step of every size moves the run on, and the same step back returns", async ({ page }) => {
  const reader = await Reader.opens(page);
  for (const by of ["event", "frame", "line", "moment"]) {
    await reader.lab.locator("step-controls fieldset").getByText(by, { exact: true }).click();
    await reader.button(`Forward one ${by}`).click();
    const first = await reader.standing();
    await reader.button(`Forward one ${by}`).click();
    expect(await reader.standing(), `a second ${by}`).not.toEqual(first);
    await reader.button(`Back one ${by}`).click();
    expect(await reader.standing(), `back one ${by}`).toEqual(first);
  }
});

test("moments lead from the fall to the return", async ({ page }) => {
  const reader = await Reader.opens(page);
  await reader.lab.locator("step-controls fieldset").getByText("moment", { exact: true }).click();
  const said: string[] = [];
  for (let step = 0; step < 60 && !said.at(-1)?.includes("serves"); step += 1) {
    await reader.button("Forward one moment").click();
    said.push(await reader.caption());
  }
  const seen = said.join("\n");
  for (const words of ["stops reading", "killed", "started again", "serves"]) expect(seen).toContain(words);
});

test("the current line of the program follows, also in Java", async ({ page }) => {
  const reader = await Reader.opens(page);
  const program = reader.lab.locator("step-program").first();
  await reader.lab.locator("step-controls fieldset").getByText("line", { exact: true }).click();
  const lines = new Set<string>();
  for (let step = 0; step < 6; step += 1) {
    await reader.button("Forward one line").click();
    lines.add(await program.locator("[aria-current=step]").innerText());
  }
  expect([...lines].join("\n")).toMatch(/send/);
  await program.getByRole("tab", { name: "Java" }).click();
  await expect(program.locator("ol")).toContainText("producer.send(");
  await expect(program.locator("[aria-current=step]")).toHaveCount(1);
});

test("playing moves on by itself and pausing stands still", async ({ page }) => {
  const reader = await Reader.opens(page);
  const before = await reader.us();
  await reader.button("Play").click();
  await expect.poll(() => reader.us()).toBeGreaterThan(before);
  await reader.button("Pause").click();
  const paused = await reader.us();
  await page.waitForTimeout(200);
  expect(await reader.us()).toBe(paused);
});

test("what has been drawn keeps its place while the run plays", async ({ page }) => {
  const reader = await Reader.opens(page);
  const gap = (): Promise<number[]> =>
    reader.lab.locator("step-diagram").evaluate((diagram) => {
      const labels = [...(diagram.shadowRoot?.querySelectorAll<SVGTextElement>(".frame .label") ?? [])];
      const byText = new Map(labels.map((label) => [label.textContent, Number(label.getAttribute("y"))]));
      return ["Produce #148", "Produce #149"].map((name) => byText.get(name) ?? -1);
    });
  const before = await gap();
  expect(before).not.toContain(-1);
  await reader.button("Play").click();
  await page.waitForTimeout(700);
  await reader.button("Pause").click();
  expect(await gap()).toEqual(before);
});

test("seeking by pointer and by keys reaches any instant of the run", async ({ page }) => {
  const reader = await Reader.opens(page);
  const track = reader.lab.getByRole("slider", { name: "Position in the run" });
  const box = await track.boundingBox();
  if (!box) throw new Error("the scrubber is not drawn");
  await track.click({ position: { x: box.width / 2, y: box.height / 2 } });
  const end = Number(await track.getAttribute("aria-valuemax"));
  expect(Math.abs((await reader.us()) - end / 2)).toBeLessThan(end / 100);
  const middle = await reader.us();
  await track.press("PageUp");
  expect(await reader.us()).toBe(middle - 1_000_000);
  await expect(track).toHaveAccessibleDescription(/broker 1 is away from 3\.000 s to 2\d\.\d{3} s/);
});

test("background traffic is folded until asked for", async ({ page }) => {
  const reader = await Reader.opens(page);
  await reader.seek(10);
  // In the outage the producer tries to connect again and again: that is background.
  const attempts = reader.lab.locator("step-diagram .frame.conn");
  const folded = await attempts.count();
  await reader.lab.getByRole("checkbox", { name: "background" }).check();
  await expect.poll(() => attempts.count()).toBeGreaterThan(folded);
});

test("an experiment that does not exist is named, with those that do", async ({ page }) => {
  await page.goto("/?experiment=acks-9");
  const failure = page.locator("step-lab").getByRole("alert");
  await expect(failure).toContainText("acks-9");
  await expect(failure).toContainText("acks-0-prevented");
});

test("the front page lists every experiment, and each opens", async ({ page }) => {
  await page.goto("/");
  const names = await page.locator("step-index small").allInnerTexts();
  expect(names).toEqual(expect.arrayContaining(["hello", "acks-0", "acks-1", "acks-all", "acks-0-prevented"]));
  for (const name of names) {
    const reader = await Reader.opens(page, `/?experiment=${name}`, name);
    await reader.runsToTheEnd();
    await expect(reader.lab.locator("step-facts .broken")).toHaveCount(0);
    await expect(reader.lab.locator("step-facts .holds").first()).toBeVisible();
  }
});
