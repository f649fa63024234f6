/** The number of different hashes. */
export const TEXT_HASHES = 2 ** 32

const PRIME = 0x01000193
/** Another one in each process, so that nobody can choose texts for their hashes beforehand. */
const seed = Math.floor(Math.random() * TEXT_HASHES)

/**
 * A whole number from 0 to below TEXT_HASHES, the same for equal texts as long as this process runs. FNV-1a over UTF-16, with
 * its high bits mixed into the low ones.
 */
export function hashOfText(text: string): number {
  let hash = seed
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
