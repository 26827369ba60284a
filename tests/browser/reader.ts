// What a reader can do and see on a page with a lab; and a page on which nothing may complain.
import { test as base, expect, type Locator, type Page } from "@playwright/test";

export { expect };

/** Fails a test in which the page logged an error, or asked another host for anything. */
export const test = base.extend<{ quiet: undefined }>({
  quiet: [
    async ({ page, baseURL }, use) => {
      const complaints: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("request", (request) => {
        const foreign = !request.url().startsWith(baseURL ?? "") && !/^(data|blob):/.test(request.url());
        if (foreign) complaints.push(`asked for ${request.url()}`);
      });
      await use(undefined);
      expect(complaints).toEqual([]);
    },
    { auto: true },
  ],
});

export class Reader {
  readonly lab: Locator;

  constructor(
    readonly page: Page,
    readonly experiment = "acks-0",
  ) {
    this.lab = page.locator(`step-lab[experiment="${experiment}"]`).first();
  }

  static async opens(page: Page, address = "/book/en/acks.html", experiment?: string): Promise<Reader> {
    await page.goto(address);
    const reader = new Reader(page, experiment);
    const failure = reader.lab.getByRole("alert");
    await reader.lab.locator(".caption time").or(failure).waitFor();
    if (await failure.isVisible()) throw new Error(await failure.innerText());
    return reader;
  }

  /** The instant that the lab shows, in µs. */
  async us(): Promise<number> {
    const text = await this.lab.locator(".caption time").innerText();
    const [, sign, seconds, micros] = /(−?)(\d+)\.([\d\s\u2009]+)s/.exec(text) ?? [];
    return (sign ? -1 : 1) * (Number(seconds) * 1e6 + Number(micros?.replace(/\D/g, "")));
  }

  caption(): Promise<string> {
    return this.lab.locator(".caption span").innerText();
  }

  /** Where the lab stands, as far as a reader can tell: instant, words, and the program's line. */
  async standing(): Promise<string> {
    const line = this.lab.locator("step-program").first().locator("[aria-current=step]");
    const [caption, program] = [this.lab.locator(".caption").innerText(), line.allInnerTexts()];
    return `${await caption} | ${(await program).join()}`;
  }

  /** Clicks the scrubber at so many seconds. */
  async seek(seconds: number): Promise<void> {
    const track = this.lab.getByRole("slider");
    const box = await track.boundingBox();
    const end = Number(await track.getAttribute("aria-valuemax"));
    if (!box) throw new Error("the scrubber is not drawn");
    await track.click({ position: { x: (box.width * seconds * 1e6) / end, y: box.height / 2 } });
  }

  button(name: string): Locator {
    return this.lab.getByRole("button", { name, exact: true });
  }

  /** The facts as the table shows them, by their label. */
  async facts(): Promise<Map<string, string>> {
    const rows = await this.lab.locator("step-facts tbody tr").all();
    const read = rows.map(async (row): Promise<[string, string]> => [
      await row.locator("th").innerText(),
      (await row.locator("td.value").innerText()).replace("✓", "").trim(),
    ]);
    return new Map(await Promise.all(read));
  }

  cells(state: string): Locator {
    return this.lab.locator(`step-log .cell[role=option].${state}`);
  }

  async runsToTheEnd(): Promise<void> {
    await this.button("To the end").click();
  }
}
