import type { NewConfiguration } from '../../src/store/configuration.ts'
import { formatRequest } from '../support/raw-http.ts'
import type { HostileRow } from './row.ts'

export const list = '/configurations/'
/** The record that must outlive every row. */
export const victim = `${list}victim`
/** There is no record of this name. */
export const nobody = `${list}nobody`

/** Changes nothing about the record `victim`, and is answered like a change. */
export const idlePatch = '{"port":1}'

export type Fields = Readonly<Record<string, string>>
export type Send = (line: string, fields?: Fields, body?: string) => string

/** Formats requests that carry some header fields unless they are given others. */
export function sender(always: Fields): Send {
  return (line, fields, body) => formatRequest(line, { ...always, ...fields }, body)
}

/** Deletes the record `victim`, if the credential is good. */
export function deletion(fields: Fields): string {
  return formatRequest(`DELETE ${victim}`, fields)
}

/** A text as UTF-8, a character a byte. */
export function utf8(text: string): string {
  return Buffer.from(text).toString('latin1')
}

export function configuration(
  fields: Partial<NewConfiguration> & { readonly name: string },
): NewConfiguration {
  return { hostname: 'h', port: 1, username: 'u', ...fields }
}

/** A row that adds a record, given as it is to be kept. */
export function addition(name: string, bytes: string, adds: NewConfiguration): HostileRow {
  return { name, bytes, allowed: [[200]], adds }
}

/** One chunk of a body and the end (RFC 9112 section 7.1). */
export function chunked(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
}
