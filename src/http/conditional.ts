import type { IncomingHttpHeaders } from 'node:http'
import { trimBlanks } from './header-fields.ts'
import { Problem } from './problem.ts'

/** Any tag, or one of a list of tags. */
type Condition = '*' | readonly string[]

const ENTITY_TAG = String.raw`(?:W/)?"[!#-~\x80-\xff]*"`
const entityTags = new RegExp(ENTITY_TAG, 'g')
/** Empty places are allowed (RFC 9110 section 5.6.1.2). */
const listOfTags = new RegExp(String.raw`^[ \t,]*${ENTITY_TAG}(?:[ \t]*,[ \t,]*${ENTITY_TAG})*[ \t,]*$`)

/**
 * Whether `If-None-Match` names the tag: a read is 304 (RFC 9110 section 13.1.2, weak comparison). A field that is not
 * understood counts as absent.
 */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  // A fast path for the usual spelling.
  if (ifNoneMatch === etag) return true
  const condition = parseCondition(ifNoneMatch)
  return condition !== undefined && matchesWeakly(condition, etag)
}

/**
 * Whether `If-Match` allows a read of something with this tag (RFC 9110 section 13.1.1, strong comparison). A field that
 * is not understood counts as absent.
 */
export function isExpected(ifMatch: string | undefined, etag: string): boolean {
  if (ifMatch === undefined) return true
  const condition = parseCondition(ifMatch)
  return condition === undefined || matches(condition, etag)
}

/**
 * Whether the conditions of a change hold for a tag; undefined without conditions.
 *
 * @throws {Problem} 400 for a field that is not understood: its sender wants no unconditional change.
 */
export function conditionIn(headers: IncomingHttpHeaders): ((etag: string) => boolean) | undefined {
  const expected = readCondition('If-Match', headers['if-match'])
  const excluded = readCondition('If-None-Match', headers['if-none-match'])
  if (expected === undefined && excluded === undefined) return undefined
  return (etag) =>
    (expected === undefined || matches(expected, etag)) &&
    (excluded === undefined || !matchesWeakly(excluded, etag))
}

/** The tags of `If-None-Match`, without `W/` and quotes; none for `*`, or if it is not understood. */
export function tagsIn(ifNoneMatch: string): string[] {
  const condition = parseCondition(ifNoneMatch)
  if (condition === undefined || condition === '*') return []
  return condition.map((tag) => strengthened(tag).slice(1, -1))
}

function readCondition(name: string, field: string | undefined): Condition | undefined {
  if (field === undefined) return undefined
  const condition = parseCondition(field)
  if (condition !== undefined) return condition
  throw new Problem(
    'malformed_condition',
    `Cannot tell what ${name} asks for, so nothing has changed; send * or tags in quotes, such as ${name}: "TAG1", "TAG2"`,
  )
}

/** Undefined for anything but `*` or a list of at least one tag. Node has joined the lines of the field. */
function parseCondition(field: string): Condition | undefined {
  if (trimBlanks(field) === '*') return '*'
  return listOfTags.test(field) ? (field.match(entityTags) ?? undefined) : undefined
}

function matches(condition: Condition, etag: string): boolean {
  return condition === '*' || condition.includes(etag)
}

function matchesWeakly(condition: Condition, etag: string): boolean {
  return condition === '*' || condition.some((tag) => strengthened(tag) === etag)
}

function strengthened(tag: string): string {
  return tag.replace(/^W\//, '')
}
