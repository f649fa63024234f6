import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  parseBasePath,
  parseChoice,
  parseDuration,
  parseHost,
  parseListen,
  parseNetworks,
  parsePath,
  parsePort,
  parseSize,
  parseSwitch,
} from '../../src/service/option-values.ts'

describe('a path', () => {
  it('is refused with what a file of settings leaves at its ends', () => {
    for (const text of ['book\r', '/srv/book\r', 'a\tb', '"book"', "'book'", 'unix:sock\r', 'unix:"sock"']) {
      const parse = () => (text.startsWith('unix:') ? parseListen(text) : parsePath(text))
      assert.throws(parse, {
        name: 'RangeError',
        message: /^a path without (control characters|quotation marks)/,
      })
    }
    for (const text of ['book', '"', 'a "b"', "o'clock", '/srv/書 book']) assert.equal(parsePath(text), text)
  })
})

const parsers: Record<
  string,
  {
    readonly parse: (text: string) => unknown
    readonly taken: readonly (readonly [text: string, value: unknown])[]
    readonly refused: readonly string[]
    /** Ends the sentence "…, because it must be". */
    readonly mustBe: string
  }
> = {
  'a port': {
    parse: parsePort,
    taken: [
      ['0', 0],
      ['65535', 65_535],
    ],
    refused: ['', '65536', '-1', '+1', '1e3', '0x50', ' 80', '022', '00'],
    mustBe: 'a number from 0 to 65535, without leading zeros',
  },
  'a host': {
    parse: parseHost,
    taken: ['localhost', 'a', 'db-1.example', '192.0.2.1', '::', 'fe80::1%eth0'].map((text) => [text, text]),
    refused: ['', '[::1]', '-a', 'a-', '.a', 'a.', 'a b', 'a:80', 'a/b', 'é'],
    mustBe: 'an IP address, without brackets, or a host name',
  },
  'a socket': {
    parse: parseListen,
    taken: [
      ['unix:/run/x', '/run/x'],
      ['unix:x:y', 'x:y'],
    ],
    refused: ['', 'unix:', '/run/x', 'Unix:/run/x', 'unix:a\0b', 'xunix:/run/x'],
    mustBe: 'unix: and the path of a socket, such as unix:/run/connbook/http',
  },
  'a list of networks': {
    parse: parseNetworks,
    taken: [
      ['10.0.0.0/8', [{ address: '10.0.0.0', bits: 8 }]],
      ['192.0.2.1', [{ address: '192.0.2.1', bits: 32 }]],
      ['::1', [{ address: '::1', bits: 128 }]],
      ['::/0', [{ address: '::', bits: 0 }]],
      [
        ' unix , fd00::/8',
        [
          { address: 'unix', bits: 0 },
          { address: 'fd00::', bits: 8 },
        ],
      ],
    ],
    refused: ['', ',', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.1/16', 'fe80::1%eth0', 'unix/0', '::1,,'],
    mustBe: 'an address or a network, such as 10.0.0.0/8 or fd00::/8, or unix',
  },
  'a base path': {
    parse: parseBasePath,
    taken: [
      ['/', ''],
      ['/a', '/a'],
      ['/a/b.c_d~e-f/', '/a/b.c_d~e-f'],
      ['/...', '/...'],
      ['/.well', '/.well'],
    ],
    refused: ['a', '//', '/a//', '/a/../b', '/.', '/..', '/a/.', '/a b', '/%41', '/a?'],
    mustBe: 'a path like /connbook, of letters, digits, "-", ".", "_" and "~"',
  },
  'a time': {
    parse: parseDuration,
    taken: [
      ['1s', 1],
      ['90s', 90],
      ['15m', 900],
      ['12h', 43_200],
      ['400d', 34_560_000],
    ],
    refused: ['', '0s', '401d', '34560001s', '1', '1w', '1.5h', '-1s', '1e1s', ' 1s', 's', '0000000001s'],
    mustBe: 'a time such as 90s, 15m, 12h or 30d, from 1s to 400d',
  },
  'a size': {
    parse: parseSize,
    taken: [
      ['10M', 10_485_760],
      ['80M', 83_886_080],
      ['1G', 1_073_741_824],
      ['1000G', 1_073_741_824_000],
      ['1024000M', 1_073_741_824_000],
    ],
    refused: [
      '',
      '9M',
      '1001G',
      '80',
      'M',
      '1k',
      '80m',
      '80MB',
      '1T',
      '1.5G',
      '-1G',
      '1e1G',
      ' 1G',
      '0000000001G',
    ],
    mustBe: 'a size such as 80M or 1G, from 10M to 1000G',
  },
  'one of a few words': {
    parse: (text) => parseChoice(text, ['merge', 'replace']),
    taken: [['replace', 'replace']],
    refused: ['', 'Merge', 'mer', '__proto__', 'constructor'],
    mustBe: 'merge or replace',
  },
  'a switch': {
    parse: parseSwitch,
    taken: [
      ...['true', '1', 'yes', 'on'].map((text) => [text, true] as const),
      ...['false', '0', 'no', 'off'].map((text) => [text, false] as const),
    ],
    refused: ['', 'TRUE', '2', 'y'],
    mustBe: 'true or false',
  },
}

for (const [what, { parse, taken, refused, mustBe }] of Object.entries(parsers)) {
  describe(what, () => {
    for (const [text, value] of taken)
      it(`is read from ${JSON.stringify(text)}`, () => assert.deepEqual(parse(text), value))

    for (const text of refused) {
      it(`is refused as ${JSON.stringify(text)}`, () => {
        assert.throws(
          () => parse(text),
          (error) => error instanceof RangeError && error.message === mustBe,
        )
      })
    }
  })
}
