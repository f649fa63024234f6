import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { createRandom } from '../../support/random.ts'
import { type Argument, parseTrace, TraceError } from './trace-parser.ts'

const tmpA = String.raw`\x2f\x74\x6d\x70\x2f\x61`

function word(text: string): Argument {
  return { kind: 'word', text }
}

function bytes(text: string): Argument {
  return { kind: 'bytes', bytes: Buffer.from(text) }
}

function descriptor(number: number | undefined, path: string): Argument {
  return { kind: 'descriptor', number, path }
}

/** The only call of a trace. */
function parseOne(line: string) {
  const [begun, ended, ...others] = parseTrace(`${line}\n`)
  assert.deepEqual([begun?.moment, ended?.moment, others], ['begun', 'ended', []])
  assert.equal(begun?.call, ended?.call)
  return begun?.call
}

describe('parseTrace', () => {
  it('reads a call with paths, flags and the descriptor that it returns', () => {
    const line = String.raw`25668 openat(AT_FDCWD<\x2f\x74\x6d\x70>, "${tmpA}", O_RDWR|O_CREAT|O_EXCL, 0600) = 22<${tmpA}>`
    assert.deepEqual(parseOne(line), {
      thread: 25668,
      name: 'openat',
      args: [descriptor(undefined, '/tmp'), bytes('/tmp/a'), word('O_RDWR|O_CREAT|O_EXCL'), word('0600')],
      result: 22,
    })
  })

  it('reads a short write', () => {
    const line = String.raw`7872  pwrite64(3<${tmpA}>, "\x61\x0a\x22\xff", 4, 4096) = 2`
    assert.deepEqual(parseOne(line), {
      thread: 7872,
      name: 'pwrite64',
      args: [
        descriptor(3, '/tmp/a'),
        { kind: 'bytes', bytes: Buffer.from([0x61, 0x0a, 0x22, 0xff]) },
        word('4'),
        word('4096'),
      ],
      result: 2,
    })
  })

  it('reads a write of several buffers', () => {
    const line = String.raw`7872  writev(3<${tmpA}>, [{iov_base="\x61\x62\x0a", iov_len=3}, {iov_base="\x63", iov_len=1}], 2) = 4`
    const piece = (text: string, length: string): Argument => ({
      kind: 'structure',
      members: new Map([
        ['iov_base', bytes(text)],
        ['iov_len', word(length)],
      ]),
    })
    const pieces: Argument = { kind: 'list', items: [piece('ab\n', '3'), piece('c', '1')] }
    assert.deepEqual(parseOne(line)?.args, [descriptor(3, '/tmp/a'), pieces, word('2')])
  })

  it('reads failed calls, unlinked files, sockets and descriptors that are not open', () => {
    const parsed = parseTrace(String.raw`25668 unlink("${tmpA}") = -1 ENOENT (No such file or directory)
25661 write(99, "\x61", 1)                = -1 EBADF (Bad file descriptor)
25668 close(22<${tmpA}>(deleted)) = 0
25661 write(26<\x73\x6f\x63\x6b\x65\x74\x3a\x5b\x31\x5d>, "", 0 <unfinished ...>
`)
    const calls = parsed.filter(({ moment }) => moment === 'begun').map(({ call }) => call)
    assert.deepEqual(
      calls.map(({ name, args: [first], result }) => [name, first, result]),
      [
        ['unlink', bytes('/tmp/a'), -1],
        ['write', word('99'), -1],
        ['close', descriptor(22, '/tmp/a'), 0],
        ['write', descriptor(26, 'socket:[1]'), undefined],
      ],
    )
  })

  it('gives the start and the end of a call that other threads interrupt', () => {
    const events = parseTrace(String.raw`25668 fdatasync(22<${tmpA}> <unfinished ...>
25661 write(26<\x73>, "\x61", 1 <unfinished ...>
25668 <... fdatasync resumed>)          = 0
25661 <... write resumed>)              = 1
25661 --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=25653, si_uid=0} ---
25661 mkdir("${tmpA}", 0700)             = ?
25668 +++ exited with 0 +++
25661 +++ killed by SIGKILL +++
`)
    assert.deepEqual(
      events.map(({ moment, call }) => [moment, call.name, call.args.length, call.result]),
      [
        ['begun', 'fdatasync', 1, 0],
        ['begun', 'write', 3, 1],
        ['ended', 'fdatasync', 1, 0],
        ['ended', 'write', 3, 1],
        ['begun', 'mkdir', 2, undefined],
        ['ended', 'mkdir', 2, undefined],
      ],
    )
  })

  it('reports no end for a call without one in the trace', () => {
    const line = String.raw`25668 pwrite64(22<${tmpA}>, "\x61", 1, 0 <unfinished ...>`
    const events = parseTrace(`${line}\n25668 +++ killed by SIGKILL +++\n`)
    assert.deepEqual(
      events.map(({ moment, call }) => [moment, call.args.length, call.result]),
      [['begun', 4, undefined]],
    )
  })

  const refused: Record<string, string> = {
    'a string that was cut': String.raw`1 write(3<${tmpA}>, "\x61\x62"..., 6) = 6`,
    'a line that was cut': String.raw`1 write(3<${tmpA}>, "\x61\x62`,
    'a call without its end': String.raw`1 write(3<${tmpA}>, "\x61\x62", 2`,
    'an end without its call': '1 <... write resumed>) = 1',
    'a string that is not escaped': '1 mkdir("/tmp", 0700) = 0',
    'a line without a thread': 'mkdir("", 0700) = 0',
    'a call within a call': '1 fsync(3<> <unfinished ...>\n1 fsync(3<>) = 0',
  }
  for (const [what, text] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      assert.throws(() => parseTrace(text), TraceError)
    })
  }

  it('reads back any calls of any threads, however they interleave', async (t) => {
    const { seed } = createRandom()
    t.diagnostic(`seed ${seed}`)
    const threads = fc.array(fc.array(arbitraryCall, { maxLength: 5 }), { maxLength: 4 })
    const property = fc.property(threads, fc.infiniteStream(fc.nat()), (calls, choices) => {
      const { text, expected } = interleave(calls, choices)
      const shown = parseTrace(text).map(({ moment, call }) => ({ moment, ...call }))
      assert.deepEqual(shown, expected)
    })
    await fc.assert(property, { seed })
  })
})

interface WrittenCall {
  readonly name: string
  readonly args: readonly Argument[]
  readonly result: number
}

const arbitraryBytes = fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array))

const arbitraryArgument: fc.Arbitrary<Argument> = fc.oneof(
  arbitraryBytes.map((content): Argument => ({ kind: 'bytes', bytes: content })),
  fc.tuple(fc.nat(), fc.string()).map(([number, path]) => descriptor(number, path)),
  fc.constantFrom('0', '-1', '0600', 'O_RDWR|O_CREAT', 'NULL', '0x7f00').map(word),
  fc.array(arbitraryBytes, { maxLength: 3 }).map(
    (pieces): Argument => ({
      kind: 'list',
      items: pieces.map((content) => ({
        kind: 'structure',
        members: new Map([['iov_base', { kind: 'bytes', bytes: content }]]),
      })),
    }),
  ),
)

const arbitraryCall: fc.Arbitrary<WrittenCall> = fc.record({
  name: fc.constantFrom('openat', 'pwrite64', 'fsync'),
  args: fc.array(arbitraryArgument, { minLength: 1, maxLength: 4 }),
  result: fc.integer({ min: -1, max: 100 }),
})

/** Writes calls as strace does, in order for each thread, and returns the events that they represent. */
function interleave(threads: readonly WrittenCall[][], choices: Iterable<number>) {
  const queues = threads.map((calls, i) => ({ thread: 100 + i, calls: [...calls], isWithin: false }))
  const lines: string[] = []
  const expected: unknown[] = []
  for (const choice of choices) {
    const waiting = queues.filter(({ calls }) => calls.length > 0)
    const queue = waiting[choice % waiting.length]
    const call = queue?.calls[0]
    if (queue === undefined || call === undefined) break
    const { thread, isWithin } = queue
    const begin = `${call.name}(${call.args.map(write).join(', ')}`
    const end = `) = ${call.result}`
    const isInterrupted = !isWithin && choice % 2 === 0
    if (isInterrupted) lines.push(`${thread} ${begin} <unfinished ...>`)
    else if (isWithin) lines.push(`${thread} <... ${call.name} resumed>${end}`)
    else lines.push(`${thread}  ${begin}${end}`)
    if (!isWithin) expected.push({ moment: 'begun', thread, ...call })
    if (!isInterrupted) {
      expected.push({ moment: 'ended', thread, ...call })
      queue.calls.shift()
    }
    queue.isWithin = isInterrupted
  }
  return { text: `${lines.join('\n')}\n`, expected }
}

function write(arg: Argument): string {
  switch (arg.kind) {
    case 'bytes':
      return `"${escapeBytes(arg.bytes)}"`
    case 'descriptor':
      return `${arg.number}<${escapeBytes(Buffer.from(arg.path))}>`
    case 'list':
      return `[${arg.items.map(write).join(', ')}]`
    case 'structure':
      return `{${Array.from(arg.members, ([name, member]) => `${name}=${write(member)}`).join(', ')}}`
    case 'word':
      return arg.text
  }
}

function escapeBytes(content: Buffer): string {
  return content.toString('hex').replaceAll(/../g, String.raw`\x$&`)
}
