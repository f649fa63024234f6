import { NewerFormError } from './errors.ts'
import { escapeHidden } from './text.ts'

/** Whether a parsed JSON value is an object, neither null nor an array. */
export function isObject(input: unknown): input is Record<string, unknown> {
  return typeof input === 'object' && input !== null && !Array.isArray(input)
}

/** A value as one line of JSON for logs. */
export function printableJson(value: unknown): string {
  return escapeHidden(JSON.stringify(value))
}

/** @throws {NewerFormError} if a stored object has an unknown member, which would be lost. */
export function checkMembers(stored: object, known: readonly string[], what: string): void {
  for (const member in stored) {
    if (!known.includes(member)) throw new NewerFormError(`the member ${printableJson(member)} of ${what}`)
  }
}

/** Whether a stored version is above the known one. Damage can look like it: check what a checksum covers first. */
export function isNewerVersion(version: unknown, known: number): boolean {
  return isVersion(version) && version > known
}

/** Whether it can be the version of a stored document: they count from 1. */
export function isVersion(input: unknown): input is number {
  return Number.isSafeInteger(input) && (input as number) >= 1
}

/** Returns undefined, which JSON cannot express, if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
