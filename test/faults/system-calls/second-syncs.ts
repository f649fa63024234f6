/**
 * Finds the syncs of a file whose sync had failed before, in what strace has logged with `close` among the calls: the
 * kernel may have dropped what was not written and would now report success.
 */
export function secondSyncs(lines: readonly string[]): string[] {
  const failed = new Set<string>()
  const onTheirWay = new Map<string, string>()
  const second: string[] = []
  for (const line of lines) {
    const [, thread = '', call, descriptor = ''] = /^(\d+) +(close|fsync|fdatasync)\((\d+)/.exec(line) ?? []
    const resumed = /^(\d+) +<\.\.\. (?:fsync|fdatasync) resumed>/.exec(line)?.[1]
    if (call === 'close') failed.delete(descriptor)
    else if (call !== undefined) {
      if (failed.has(descriptor)) second.push(line)
      onTheirWay.set(thread, descriptor)
    }
    const ended = onTheirWay.get(resumed ?? thread)
    if (ended !== undefined && / = -1 E(?!INTR)/.test(line)) failed.add(ended)
  }
  return second
}
