// What the modules of the report page must keep; nmtalign/report/html.py joins them as plain lines into one scope.
import js from "@eslint/js";

const shared = "ruled out: html.py joins the modules into one scope, where each name means the same in all";
const browser = [
  "document",
  "window",
  "localStorage",
  "sessionStorage",
  "fetch",
  "atob",
  "Blob",
  "XMLSerializer",
  "URL",
  "URLSearchParams",
  "Event",
  "CustomEvent",
  "DecompressionStream",
  "Response",
  "TextDecoder",
  "ResizeObserver",
  "getComputedStyle",
  "requestAnimationFrame",
  "setTimeout",
  "clearTimeout",
];

export default [
  js.configs.recommended,
  {
    languageOptions: {
      ecmaVersion: 2022,
      sourceType: "module",
      globals: Object.fromEntries(browser.map((name) => [name, "readonly"])),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      curly: ["error", "multi-line"],
      eqeqeq: "error",
      "max-len": ["error", { code: 120 }],
      "no-restricted-syntax": [
        "error",
        { selector: "ImportDefaultSpecifier, ImportNamespaceSpecifier, ImportExpression", message: shared },
        { selector: "ExportDefaultDeclaration, ExportAllDeclaration, ExportSpecifier", message: shared },
        {
          selector: "TemplateElement[value.raw=/\\n/]",
          message: "ruled out: html.py drops the spaces before lines",
        },
      ],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-use-before-define": ["error", { functions: false, variables: false }],
      "no-var": "error",
      "one-var": ["error", "never"],
      "prefer-const": "error",
    },
  },
];
