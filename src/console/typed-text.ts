/** Fills an input with a text that nobody has typed. */
export function fillIn(input: HTMLInputElement, text: string): void {
  input.value = input.defaultValue = text
}

/** Whether an input has the text that it was filled with. */
export function isUntouched({ value, defaultValue }: HTMLInputElement): boolean {
  return value === defaultValue
}

/** What a person typed or pasted, without the blanks at its ends. A text that nobody touched stays as it is. */
export function typedIn(input: HTMLInputElement): string {
  return isUntouched(input) ? input.value : input.value.trim()
}
