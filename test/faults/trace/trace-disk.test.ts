import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dropAll, keepAll } from '../volatile/chooser.ts'
import { TraceDisk } from './trace-disk.ts'
import { parseTrace, TraceError } from './trace-parser.ts'

const before = { entries: new Map([['/r', undefined]]) }

/** Replays a trace whose `"…"` and `<…>` are not escaped yet. */
function replayed(...lines: string[]): TraceDisk {
  const escaped = (text: string) => Buffer.from(text).toString('hex').replaceAll(/../g, String.raw`\x$&`)
  const trace = lines.map((line) =>
    line
      .replaceAll(/"(.*?)"/g, (_, text: string) => `"${escaped(text)}"`)
      .replaceAll(/<(\/.*?)>/g, (_, text: string) => `<${escaped(text)}>`),
  )
  const disk = new TraceDisk('/r', before)
  for (const event of parseTrace(trace.join('\n'))) disk.apply(event)
  return disk
}

/** Names and contents that a power failure leaves at worst and at best. */
function remains({ disk }: TraceDisk): [worst: string[], best: string[]] {
  const [worst = [], best = []] = [dropAll, keepAll].map((choose) =>
    Array.from(disk.crash(choose).entries, ([path, content]) =>
      content === undefined ? path : `${path}: ${content}`,
    ),
  )
  return [worst, best]
}

const create = '1 openat(AT_FDCWD</x>, "/r/a", O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 5</r/a>'
const openFolder = '1 openat(AT_FDCWD</x>, "/r", O_RDONLY|O_CLOEXEC) = 6</r>'

describe('TraceDisk', () => {
  it('keeps bytes when their file is synced, and names when their folder is', () => {
    const disk = replayed(
      create,
      '1 pwrite64(5</r/a>, "one", 3, 0) = 3',
      '1 fsync(5</r/a>) = 0',
      openFolder,
      '1 fsync(6</r>) = 0',
      '1 pwrite64(5</r/a>, "two", 3, 3) = 3',
      '1 rename("/r/a", "/r/b") = 0',
    )
    assert.deepEqual(remains(disk), [
      ['/r', '/r/a: one'],
      ['/r', '/r/b: onetwo'],
    ])
  })

  it('follows a file that was renamed or unlinked', () => {
    const disk = replayed(
      create,
      '1 rename("/r/a", "/r/b") = 0',
      '1 pwrite64(5</r/b>, "one", 3, 0) = 3',
      '1 unlink("/r/b") = 0',
      '1 pwrite64(5</r/b>(deleted), "two", 3, 0) = 3',
      '1 close(5</r/b>(deleted)) = 0',
      create,
      '1 pwrite64(5</r/a>, "new", 3, 0) = 3',
    )
    assert.deepEqual(remains(disk), [['/r'], ['/r', '/r/a: new']])
  })

  it('counts a write from its start, and a sync from its end', () => {
    const lines = [
      create,
      openFolder,
      '1 fsync(6</r>) = 0',
      '1 pwrite64(5</r/a>, "one", 3, 0 <unfinished ...>',
    ]
    assert.deepEqual(remains(replayed(...lines)), [
      ['/r', '/r/a: '],
      ['/r', '/r/a: one'],
    ])
    lines.push('1 <... pwrite64 resumed>) = 3', '1 fdatasync(5</r/a> <unfinished ...>')
    assert.deepEqual(remains(replayed(...lines))[0], ['/r', '/r/a: '])
    lines.push('1 <... fdatasync resumed>) = 0')
    assert.deepEqual(remains(replayed(...lines))[0], ['/r', '/r/a: one'])
  })

  it('applies what a call did, and nothing of a failed call', () => {
    const disk = replayed(
      create,
      '1 pwrite64(5</r/a>, "one", 3, 0) = 2',
      '1 pwrite64(5</r/a>, "two", 3, 3) = -1 ENOSPC (No space left on device)',
      '1 mkdir("/r", 0700) = -1 EEXIST (File exists)',
      '1 mkdir("/r/f", 0700) = 0',
      '1 unlink("/r/c") = -1 ENOENT (No such file or directory)',
      '1 ftruncate(5</r/a>, 1) = 0',
    )
    assert.deepEqual(remains(disk)[1], ['/r', '/r/a: o', '/r/f'])
  })

  it('appends to a file that was opened with O_APPEND', () => {
    const disk = replayed(
      '1 openat(AT_FDCWD</x>, "/r/a", O_WRONLY|O_CREAT|O_APPEND|O_CLOEXEC, 0600) = 5</r/a>',
      '1 write(5</r/a>, "one", 3) = 3',
      '1 write(5</r/a>, "two", 3) = 2',
    )
    assert.deepEqual(remains(disk)[1], ['/r', '/r/a: onetw'])
  })

  it('never makes durable what a failed sync covered', () => {
    const disk = replayed(
      create,
      openFolder,
      '1 fsync(6</r>) = 0',
      '1 pwrite64(5</r/a>, "one", 3, 0) = 3',
      '1 fdatasync(5</r/a>) = -1 EIO (Input/output error)',
      '1 fdatasync(5</r/a>) = 0',
    )
    assert.deepEqual(remains(disk)[0], ['/r', '/r/a: '])
  })

  it('ignores calls outside its folder', () => {
    const disk = replayed(
      '1 openat(AT_FDCWD</x>, "/run/a", O_RDWR|O_CREAT, 0600) = 5</run/a>',
      '1 write(5</run/a>, "one", 3) = 3',
      '1 fsync(5</run/a>) = 0',
      '1 link("/run/a", "/run/b") = 0',
    )
    assert.ok(disk.disk.isDurable)
  })

  const refused: Record<string, string> = {
    'a write without a position': '1 write(5</r/a>, "one", 3) = 3',
    'a call that it does not know': '1 link("/r/a", "/r/b") = 0',
    'a rename from elsewhere': '1 rename("/x/a", "/r/b") = 0',
    'a file that it has not seen opened': '1 pwrite64(9</r/z>, "one", 3, 0) = 3',
    'a write during a sync of the same file':
      '1 fsync(5</r/a> <unfinished ...>\n2 pwrite64(5</r/a>, "one", 3, 0) = 3',
  }
  for (const [what, lines] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      assert.throws(() => replayed(create, ...lines.split('\n')), TraceError)
    })
  }
})
