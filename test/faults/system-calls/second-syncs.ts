/**
 * Finds syncs of a file whose sync had failed before, in a strace log that includes `close`. Such a sync proves
 * nothing: the kernel may have dropped the unwritten data and now reports success.
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
