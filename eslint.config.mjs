import js from "@eslint/js";
import globals from "globals";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["target/", "node_modules/", "www/pkg/", "www/dist/", "book/out/", "tests/fixtures/"] },
  js.configs.recommended,
  { files: ["**/*.mjs"], languageOptions: { globals: globals.node } },
  { files: ["**/*.ts"], extends: [ts.configs.strict], rules: { "@typescript-eslint/no-explicit-any": "error" } },
);
