// The languages of the page: owns which there are and which one an element speaks.
import type { Localized } from "../engine.js";
import { en, type Messages } from "./en.js";
import { zh } from "./zh.js";

export type { Messages };
export type Language = keyof Localized;

const tables: Record<Language, Messages> = { en, zh };

export function messages(language: Language): Messages {
  return tables[language];
}

/** The element's own `lang`, else the nearest one around it, else the document's: any form of Chinese is zh, all else en. */
export function languageOf(element: Element): Language {
  const lang = element.closest("[lang]")?.getAttribute("lang") ?? document.documentElement.lang;
  return lang.toLowerCase().startsWith("zh") ? "zh" : "en";
}
