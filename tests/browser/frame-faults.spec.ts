// A reader does something to one frame: the run goes on from there on a course of its own, and the old one stays.
import type { Page } from "@playwright/test";

import { Reader, expect, test } from "./reader.js";

/** acks=1 without idempotence: an answer that is lost makes the producer send again. */
const EXPERIMENT = "acks-1";

class Meddler extends Reader {
  static async at(page: Page, seconds: number, address = `/?experiment=${EXPERIMENT}`): Promise<Meddler> {
    await Reader.opens(page, address, EXPERIMENT);
    const reader = new Meddler(page, EXPERIMENT);
    await reader.seek(seconds);
    return reader;
  }

  /** Chooses an arrow as the keyboard does: by its sentence, from the last one upwards. */
  async chooses(frame: string | RegExp): Promise<void> {
    const diagram = this.lab.locator("step-diagram").getByRole("listbox");
    const heading = this.lab.locator("step-inspector").getByRole("heading").first();
    for (let tries = 0; tries < 40; tries += 1) {
      await diagram.press("ArrowUp");
      if ((await heading.innerText()).match(frame)) return;
    }
    throw new Error(`no frame ${String(frame)} is drawn`);
  }

  get courses(): ReturnType<Reader["button"]> {
    return this.lab.locator("step-branches button");
  }

  /** The fact's value in each course, as the table of courses tells; nothing if they end alike. */
  async endings(fact: string): Promise<string[]> {
    const row = this.lab.locator("step-branches tbody tr").filter({ has: this.page.getByText(fact, { exact: true }) });
    return (await row.count()) === 0 ? [] : row.locator("td").allInnerTexts();
  }

  /** To the next frames that are sent, arrive or are lost. */
  async steps(frames: number): Promise<void> {
    await this.lab.locator("step-controls fieldset").getByText("frame", { exact: true }).click();
    for (let step = 0; step < frames; step += 1) await this.button("Forward one frame").click();
  }

  logEnd(): Promise<string> {
    return this.lab.locator("step-log").first().innerText();
  }
}

test("a held frame arrives later", async ({ page }) => {
  const reader = await Meddler.at(page, 1);
  await reader.chooses(/^Produce #\d+ v/);
  const heading = reader.lab.locator("step-inspector").getByRole("heading").first();
  const name = (await heading.innerText()).split(" v")[0] ?? "";
  await reader.button("Hold").click();
  await expect(reader.courses).toHaveText([/as it was/, new RegExp(`${name} held for 1\\.00 s`)]);
  await expect(heading).toContainText(`${name} v`);
  await expect(heading).toContainText("on its way");
  expect(await reader.caption()).toContain("frame held for 1.00 s");
  await reader.seek(1.8);
  await expect(heading).toContainText("on its way");
  await reader.seek(2.2);
  await expect(heading).toContainText("arrived at");
});

test("a cut before a frame loses it, and the producer sends its record on a new connection", async ({ page }) => {
  const reader = await Meddler.at(page, 1);
  await reader.chooses(/^Produce #\d+ v/);
  await reader.button("Cut before").click();
  await expect(reader.courses).toHaveCount(2);
  await reader.steps(3);
  await expect(reader.lab.locator("step-diagram .frame.data.lost")).toHaveCount(1);
  await expect(reader.lab.locator("step-branches")).toContainText("once you have run to the end");
  await expect(reader.lab.locator("step-branches tbody tr")).toHaveCount(0);
  await reader.runsToTheEnd();
  await expect(reader.lab.locator("step-branches tbody tr").first()).toBeVisible();
  expect(await reader.endings("records given to send()"), "what ends alike is not told").toEqual([]);
  expect(await reader.endings("until close() returned (ms)")).toHaveLength(2);
});

test("a cut after a request lets it take effect: without idempotence its record lands twice", async ({ page }) => {
  const reader = await Meddler.at(page, 1);
  await reader.runsToTheEnd();
  const before = Number(/end\s*(\d+)/.exec(await reader.logEnd())?.[1]);
  await reader.seek(1);
  await reader.chooses(/^Produce #\d+ v/);
  await reader.button("Cut after").click();
  await expect(reader.courses.last()).toContainText("cut after Produce");
  await reader.runsToTheEnd();
  const after = Number(/end\s*(\d+)/.exec(await reader.logEnd())?.[1]);
  expect(after).toBe(before + 1);
  // The course that was seen first is there as before.
  await reader.courses.first().click();
  await reader.runsToTheEnd();
  expect(Number(/end\s*(\d+)/.exec(await reader.logEnd())?.[1])).toBe(before);
});

test("a frame that is sent again is drawn twice, and its second answer is lost on the way", async ({ page }) => {
  const reader = await Meddler.at(page, 1);
  await reader.chooses(/^Produce reply v/);
  await expect(reader.button("Send again"), "a client that got one answer twice would be lost").toBeDisabled();
  await reader.chooses(/^Produce #\d+ v/);
  await reader.button("Send again").click();
  expect(await reader.caption()).toContain("frame sent again");
  await reader.steps(6);
  await expect(reader.lab.locator("step-diagram .frame.ack.lost")).toHaveCount(1);
});

test("acting again goes on from the course that is shown, and each course can be looked at", async ({ page }) => {
  const reader = await Meddler.at(page, 1);
  await reader.chooses(/^Produce #\d+ v/);
  await reader.button("Cut after").click();
  await reader.seek(2);
  await reader.chooses(/^Produce #\d+ v/);
  await reader.button("Hold").click();
  await expect(reader.courses).toHaveText([/as it was/, /cut after/, /held for 1\.00 s.*after course 1/s]);
  await expect(reader.courses.nth(2)).toHaveAttribute("aria-pressed", "true");
  const here = await reader.us();
  await reader.courses.nth(1).click();
  await expect(reader.courses.nth(1)).toHaveAttribute("aria-pressed", "true");
  expect(await reader.us()).toBe(here);
});

test("the address leads to the same course and instant, and says so when it no longer fits", async ({ page }) => {
  const reader = await Meddler.at(page, 1);
  await reader.chooses(/^Produce #\d+ v/);
  await reader.button("Cut after").click();
  await reader.seek(1.5);
  await expect.poll(() => page.url()).toContain("act=cut-after.");
  await expect.poll(() => page.url()).toContain(`at=${String(await reader.us())}`);
  const [address, standing] = [page.url(), await reader.standing()];
  const hash = await reader.lab.locator("footer p").innerText();
  await page.goto("about:blank");
  await Reader.opens(page, address, EXPERIMENT);
  await expect(reader.courses).toHaveText([/as it was/, /cut after Produce/]);
  expect(await reader.standing()).toBe(standing);
  expect(await reader.lab.locator("footer p").innerText()).toBe(hash);
  await reader.courses.first().click();
  await expect.poll(() => page.url()).not.toContain("#");

  await page.goto("about:blank");
  await Reader.opens(page, address.replace(/engine=[\d.]+/, "engine=0.0.0"), EXPERIMENT);
  await expect(reader.lab.getByRole("status")).toContainText("another version");
  await expect(reader.courses).toHaveCount(0);
});

test("why a record's answer is late leads to what the reader did", async ({ page }) => {
  const reader = await Meddler.at(page, 1);
  await reader.chooses(/^Produce #\d+ v/);
  await reader.button("Hold").click();
  await reader.seek(2.4);
  const record = /#(\d+)/.exec(await reader.courses.last().innerText())?.[1] ?? "";
  await reader.lab.locator(`step-log .cell[role=option][aria-label^="Record ${record},"]`).click();
  await expect(reader.lab.locator("step-why")).toContainText("the network held the frame for 1000 ms");
});

test("中文读者也能扣住一帧", async ({ page }) => {
  const reader = await Meddler.at(page, 1, `/?experiment=${EXPERIMENT}&lang=zh`);
  await reader.chooses(/^Produce #\d+ v/);
  await reader.button("扣住").click();
  await expect(reader.courses).toHaveText([/原来的样子/, /扣住 1\.00 s/]);
});
