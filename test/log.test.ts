import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLog as createTypedLog, type LogFields, type LogFormat } from '../src/log.ts'
import type { LogLevel } from '../src/log-events.ts'

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** A log that takes any event and field. */
const createLog = createTypedLog as (
  ...args: Parameters<typeof createTypedLog>
) => Record<LogLevel, (event: string, fields?: LogFields) => void>

function write(format: LogFormat, fields?: LogFields): string {
  let written = ''
  createLog(format, (line) => (written += line)).info('event', fields)
  return written
}

/** The line after time, level and event. */
const fieldsOf = (line: string) => line.replace(/^\S+ info {2}event ?/, '').trimEnd()

describe('createLog', () => {
  it('writes one line of JSON for each event', () => {
    const { time, ...rest } = JSON.parse(
      write('json', { port: 8080, isOn: true, name: 'a b', nothing: undefined }),
    )
    assert.match(time, TIME)
    assert.deepEqual(rest, { level: 'info', event: 'event', port: 8080, isOn: true, name: 'a b' })
  })

  it('writes one line of text for each event', () => {
    const line = write('text', { port: 8080, isOn: true, name: 'a b', nothing: undefined })
    assert.match(line.split(' ')[0] ?? '', TIME)
    assert.equal(fieldsOf(line), 'port=8080 isOn=true name="a b"')
  })

  it('names the level', () => {
    const lines: string[] = []
    for (const format of ['json', 'text'] as const) {
      const log = createLog(format, (line) => lines.push(line))
      for (const level of ['info', 'warn', 'error'] as const) log[level]('event')
    }
    const levels = lines.map((line) => (line.startsWith('{') ? JSON.parse(line).level : line.split(/ +/)[1]))
    assert.deepEqual(levels, ['info', 'warn', 'error', 'info', 'warn', 'error'])
  })

  const values: Record<string, string> = {
    'http://[::1]:8080/a%20b': 'http://[::1]:8080/a%20b',
    '/var/lib/connbook-1_2+3@x': '/var/lib/connbook-1_2+3@x',
    '': '""',
    'a=b': '"a=b"',
    'a"b\\': '"a\\"b\\\\"',
    'line\nline': '"line\\nline"',
    '\u001b[31m': '"\\u001b[31m"',
    Zoë: '"Zoë"',
  }
  for (const [value, expected] of Object.entries(values)) {
    it(`writes ${JSON.stringify(value)} in a text line as ${expected}`, () => {
      assert.equal(fieldsOf(write('text', { value })), `value=${expected}`)
    })
  }

  const invisible = {
    newline: '\n',
    'carriage return': '\r',
    escape: '\u001b',
    delete: '\u007f',
    'a C1 control': '\u009b',
    'a line separator': '\u2028',
    'a right-to-left override': '\u202e',
    'a zero-width space': '\u200b',
    'an invisible tag': '\u{e0041}',
    'a lone surrogate': '\ud800',
  }
  for (const [what, character] of Object.entries(invisible)) {
    it(`escapes ${what}, so that an event stays on one line and nothing is hidden`, () => {
      for (const format of ['json', 'text'] as const) {
        const line = write(format, { value: `a${character}b` })
        assert.equal(line.indexOf('\n'), line.length - 1)
        assert.match(line, /^[\x20-\x7e]+\n$/)
        assert.ok(line.includes('a\\'))
      }
      assert.equal(JSON.parse(write('json', { value: `a${character}b` })).value, `a${character}b`)
    })
  }
})

describe('the level of a log', () => {
  it('drops events of lower levels; the default is info', () => {
    const levels = ['debug', 'info', 'warn', 'error'] as const
    const shown = (level?: (typeof levels)[number]) => {
      const lines: string[] = []
      const log = createLog('text', (line) => lines.push(line), level === undefined ? {} : { level })
      for (const each of levels) log[each]('event')
      return lines.map((line) => line.split(/ +/)[1])
    }
    assert.deepEqual([undefined, ...levels].map(shown), [
      ['info', 'warn', 'error'],
      ['debug', 'info', 'warn', 'error'],
      ['info', 'warn', 'error'],
      ['warn', 'error'],
      ['error'],
    ])
  })

  it('is written as a priority before each line for the systemd journal', () => {
    for (const format of ['json', 'text'] as const) {
      const lines: string[] = []
      const log = createLog(format, (line) => lines.push(line), { level: 'debug', hasPriorities: true })
      for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]('event')
      const start = format === 'json' ? '{"time"' : '20'
      assert.deepEqual(
        lines.map((line) => line.slice(0, 3 + start.length)),
        ['<7>', '<6>', '<4>', '<3>'].map((priority) => priority + start),
      )
    }
  })
})
