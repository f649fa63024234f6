import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exportPieces, summarizeExport } from '../../src/exchange/export.ts'
import { exportFormats } from '../../src/exchange/export-formats.ts'
import { runAtOnce } from '../../src/scheduler.ts'
import type { NewConfiguration } from '../../src/store/configuration.ts'
import type { Matcher } from '../../src/store/record-filter.ts'
import { draft } from '../support/store.ts'
import { read } from './read-text.ts'
import { recordsOf } from './records.ts'

const gates = [draft('gate1', { hostname: '192.0.2.1' }), draft('gate2', { hostname: '192.0.2.2' })]
const behind = (name: string, gate: string, more = {}) =>
  draft(name, { hostname: '10.0.0.5', labels: { 'ssh.proxyjump': gate }, ...more })

/** The inventory of some records, as JSON. */
function inventoryOf(drafts: readonly NewConfiguration[], store = 's', seen?: Matcher) {
  const records = recordsOf(drafts)
  const hasLabels = records.some(({ labels }) => labels !== undefined)
  const work = summarizeExport(exportFormats['ansible-json'], { store, records, hasLabels, seen }, 1)
  return [...exportPieces(records, runAtOnce(work))].join('')
}

function pathsOf(drafts: readonly NewConfiguration[], store?: string, seen?: Matcher) {
  const { hostvars } = JSON.parse(inventoryOf(drafts, store, seen))._meta
  return drafts.map(({ name }): string | undefined => hostvars[name].ansible_control_path)
}

describe('ansible_control_path', () => {
  it('is another one for each record behind a hop, and none for a record of an own address', () => {
    const paths = pathsOf([
      ...gates,
      behind('a', 'gate1'),
      behind('b', 'gate2'),
      behind('c', 'gate1', { port: 2 }),
    ])
    assert.deepEqual(paths.slice(0, 2), [undefined, undefined])
    assert.equal(new Set(paths.slice(2)).size, 3)
    for (const path of paths.slice(2)) assert.match(path ?? '', /^%\(directory\)s\/[0-9a-f]{12}-%%r-%%p$/)
  })

  it('is another one for each record of an address that several have', () => {
    const shared = ['[2001:db8::1]', '2001:DB8::1'].map((hostname, i) => draft(`n${i}`, { hostname }))
    const paths = pathsOf([...shared, draft('other', { hostname: '2001:db8::1', port: 2 })])
    assert.equal(new Set(paths.slice(0, 2)).size, 2)
    assert.equal(paths[2], undefined)
    assert.ok(!paths.slice(0, 2).includes(undefined))
  })

  it('says nothing of records that the caller does not see', () => {
    const records = [draft('own', { hostname: 'x' }), draft('hidden', { hostname: 'x' })]
    assert.deepEqual(pathsOf(records, 's', ({ name }) => name === 'own')[0], undefined)
  })

  it('changes with the store and with the way, and with nothing else', () => {
    const records = [...gates, behind('a', 'gate1')]
    const [, , path] = pathsOf(records)
    assert.equal(pathsOf([...gates, behind('a', 'gate1', { username: 'x' })])[2], path)
    assert.notEqual(pathsOf(records, 'other')[2], path)
    assert.notEqual(pathsOf([...gates, behind('a', 'gate2')])[2], path)
    const moved = [draft('gate1', { hostname: '192.0.2.9' }), gates[1] ?? draft('x'), behind('a', 'gate1')]
    assert.notEqual(pathsOf(moved)[2], path)
  })

  it('has no username that would make the path of the socket too long', () => {
    const [path, other] = ['u'.repeat(27), 'v'.repeat(27)].map(
      (username) => pathsOf([...gates, behind('a', 'gate1', { username })])[2],
    )
    assert.match(path ?? '', /^%\(directory\)s\/[0-9a-f]{12}-%%p$/)
    assert.notEqual(other, path)
  })

  it('is made anew after an import, and left out by that without a word', () => {
    const records = [...gates, behind('a', 'gate1'), behind('b', 'gate2')]
    const { drafts, warnings, faults } = read('ansible', inventoryOf(records))
    assert.deepEqual([warnings, faults], [[], []])
    const again = drafts.map(({ name, labelsPatch }) => [name, labelsPatch?.['ssh.proxyjump']])
    assert.deepEqual(Object.fromEntries(again).a, 'ops@192.0.2.1:22')
  })
})
