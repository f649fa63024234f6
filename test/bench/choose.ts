/**
 * Those whose names have any of these words; all when there is no word.
 *
 * @throws {RangeError} when a word is in no name.
 */
export function chooseByWords<Item>(items: Readonly<Record<string, Item>>, words: readonly string[]): Item[] {
  const names = Object.keys(items)
  const unknown = words.find((word) => !names.some((name) => name.includes(word)))
  if (unknown !== undefined)
    throw new RangeError(
      `Cannot measure "${unknown}": no name has this word; write npm run bench -- WORD, of: ${names.join(', ')}`,
    )
  return Object.entries(items)
    .filter(([name]) => words.length === 0 || words.some((word) => name.includes(word)))
    .map(([, item]) => item)
}
