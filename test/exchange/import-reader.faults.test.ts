import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FAULTS_MAX, IMPORT_ROWS_MAX } from '../../src/limits.ts'
import { assertRowsRead, read } from './read-text.ts'

const indexes = Array.from({ length: IMPORT_ROWS_MAX }, (_, i) => i)

describe('an import of any format', () => {
  it(`reads ${IMPORT_ROWS_MAX} rows, and none after them`, () => {
    assertRowsRead(IMPORT_ROWS_MAX)
  })

  it('may have a fault in each row, and keeps the first', () => {
    const hosts = Object.fromEntries(indexes.map((i) => [`h${i}`, { ansible_port: 'x', ansible_user: 'u' }]))
    const texts = {
      'pg-service': indexes.map((i) => `[${i}]\nhost=/x\nuser=u\n`).join(''),
      ansible: JSON.stringify({ _meta: { hostvars: hosts } }),
    } as const
    for (const format of ['pg-service', 'ansible'] as const) {
      const { drafts, faults, faultCount } = read(format, texts[format], 65_536)
      assert.deepEqual([drafts.length, faults.length, faultCount], [0, FAULTS_MAX, IMPORT_ROWS_MAX], format)
    }
  })
})

describe('an inventory of Ansible', () => {
  it('may have no more hosts than an import has rows', () => {
    const hosts = [...indexes, IMPORT_ROWS_MAX].map((i) => `h${i}`)
    const { faults } = read('ansible', JSON.stringify({ a: { hosts } }), 65_536)
    assert.deepEqual(
      faults.map(({ detail }) => detail),
      [`has more than ${IMPORT_ROWS_MAX} hosts; make it several files`],
    )
  })

  it('may have groups within groups in any number, and ends', () => {
    const chain = indexes.slice(0, 40_000).map((i) => [`g${i}`, { children: [`g${i + 1}`], hosts: ['h'] }])
    const { faults } = read('ansible', JSON.stringify(Object.fromEntries(chain)), 65_536)
    assert.deepEqual(
      faults.map(({ detail }) => detail),
      ['has groups that hold each other too often to be followed'],
    )
  })
})
