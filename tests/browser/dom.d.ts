// Wider than the DOM: the script asks elements for what only some kinds have. To be read with --skipLibCheck.
interface EventTarget { closest(css: string): any; matches(css: string): boolean; value: any; dataset: DOMStringMap }
interface Node { closest(css: string): any; data: string }
interface Element { dataset: DOMStringMap; type: any; checked: boolean; value: any; open: boolean; hidden: boolean; tabIndex: number; focus(options?: FocusOptions): void }
interface HTMLElement { open: boolean; value: any }
interface DocumentEventMap { chosen: Event; corrected: CustomEvent; next: CustomEvent }
