import type { NewConfiguration } from '../../src/store/configuration.ts'
import { formatRequest } from '../support/raw-http.ts'
import type { HostileRow } from './row.ts'

export const list = '/configurations/'
/** The record that must outlive every row. */
export const victim = `${list}victim`
/** There is no record of this name. */
export const nobody = `${list}nobody`

/** Leaves the record `victim` as it is, but is answered like a change. */
export const idlePatch = '{"port":1}'

export type Fields = Readonly<Record<string, string>>
export type Send = (line: string, fields?: Fields, body?: string) => string

/** Formats requests with default header fields. */
export function sender(always: Fields): Send {
  return (line, fields, body) => formatRequest(line, { ...always, ...fields }, body)
}

/** Deletes the record `victim`, if the credential is good. */
export function deletion(fields: Fields): string {
  return formatRequest(`DELETE ${victim}`, fields)
}

/** A text in UTF-8, one character for each byte. */
export function utf8(text: string): string {
  return Buffer.from(text).toString('latin1')
}

export function configuration(
  fields: Partial<NewConfiguration> & { readonly name: string },
): NewConfiguration {
  return { hostname: 'h', port: 1, username: 'u', ...fields }
}

/** A row that adds a record, given as it must be stored. */
export function addition(name: string, bytes: string, adds: NewConfiguration): HostileRow {
  return { name, bytes, allowed: [[200]], adds }
}

/** A body as one chunk and the last chunk (RFC 9112 section 7.1). */
export function chunked(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
}
