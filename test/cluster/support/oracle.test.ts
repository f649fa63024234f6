import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { History, Intent, Operation, Outcome, Read, Step } from './history.ts'
import { findFaults } from './oracle.ts'

const ok: Outcome = { kind: 'ok' }
const unknown: Outcome = { kind: 'unknown', reason: 'test' }
const add = (name: string, mark: string): Intent => ({ kind: 'add', name, mark })

/** @param at When it was asked for; it takes 5 ms. */
function operation(at: number, intent: Intent, outcome: Outcome = ok, node = 'n1'): Operation {
  return { client: 'c', node, intent, invokedAt: at, respondedAt: at + 5, outcome }
}

function step(
  revision: number,
  puts: Step['puts'],
  removed: readonly string[] = [],
  number = revision,
): Step {
  return { revision, puts, removed, batches: [{ node: 'n1', number }] }
}

const one = { id: 1, name: 'a', mark: 'm1' }
const two = { id: 2, name: 'b', mark: 'm2' }

function faultsOf(history: Partial<History>): string[] {
  return findFaults({ operations: [], reads: [], steps: [], ends: [], ...history })
}

function read(at: number, revision: number, records: Read['records'], isFresh = false, node = 'n1'): Read {
  return { node, isFresh, invokedAt: at, respondedAt: at + 1, revision, records }
}

/** A run in which all is well: an add, one without an answer, a rename, a modification, a removal and refusals. */
const good: History = {
  operations: [
    operation(10, add('a', 'm1')),
    operation(20, add('b', 'm2'), unknown),
    operation(30, add('a', 'm3'), { kind: 'refused', status: 409 }),
    operation(40, { kind: 'rename', name: 'a', newName: 'c', mark: 'm4' }, { kind: 'ok', id: 1 }, 'n2'),
    operation(50, { kind: 'modify', name: 'a', mark: 'm5' }, { kind: 'refused', status: 404 }),
    operation(60, { kind: 'modify', name: 'c', mark: 'm6' }, unknown),
    operation(70, { kind: 'remove', name: 'c' }),
    operation(80, { kind: 'remove', name: 'c' }, { kind: 'refused', status: 404 }),
    operation(90, add('z', 'm7'), { kind: 'refused', status: 503 }),
    operation(100, { kind: 'remove', name: 'b' }, unknown),
  ],
  steps: [
    step(1, [one]),
    step(2, [two]),
    step(3, [{ id: 1, name: 'c', mark: 'm4' }], ['a']),
    step(4, [], ['c']),
  ],
  reads: [
    read(16, 1, [one]),
    read(17, 0, [], false, 'n2'),
    read(47, 3, [two, { id: 1, name: 'c', mark: 'm4' }], true),
  ],
  ends: [
    { where: 'etcd', records: [two] },
    { where: 'n1', records: [two] },
  ],
}

describe('the oracle over histories', () => {
  it('finds nothing wrong with a good one', () => {
    assert.deepEqual(findFaults(good), [])
  })

  const bad: [what: string, history: Partial<History>, fault: RegExp][] = [
    ['an acknowledged add that is lost', { operations: [operation(1, add('a', 'm1'))] }, /lost/],
    ['an add that nobody asked for', { steps: [step(1, [one])] }, /nobody asked/],
    [
      'a change that is done twice',
      {
        operations: [operation(1, add('a', 'm1'), unknown), operation(1, { kind: 'remove', name: 'a' })],
        steps: [step(1, [one]), step(2, [], ['a']), step(3, [{ ...one, id: 2 }])],
      },
      /done twice/,
    ],
    [
      'a refused change that is done',
      {
        operations: [operation(1, add('a', 'm1'), { kind: 'refused', status: 503 })],
        steps: [step(1, [one])],
      },
      /was refused, and is done/,
    ],
    [
      'an id that its client was not told',
      { operations: [operation(1, add('a', 'm1'), { kind: 'ok', id: 7 })], steps: [step(1, [one])] },
      /told the id 7/,
    ],
    [
      'an id that is given again',
      {
        operations: [
          operation(1, add('a', 'm1')),
          operation(10, { kind: 'remove', name: 'a' }),
          operation(20, add('b', 'm2')),
        ],
        steps: [step(1, [one]), step(2, [], ['a']), step(3, [{ ...two, id: 1 }])],
      },
      /does not rise/,
    ],
    [
      'an id that is given to two at once',
      {
        operations: [operation(1, add('a', 'm1')), operation(1, add('b', 'm2'))],
        steps: [step(1, [one, { ...two, id: 1 }])],
      },
      /does not rise/,
    ],
    [
      'an id that changes',
      {
        operations: [operation(1, add('a', 'm1')), operation(10, { kind: 'modify', name: 'a', mark: 'm2' })],
        steps: [step(1, [one]), step(2, [{ ...one, id: 2, mark: 'm2' }])],
      },
      /changes its id/,
    ],
    [
      'a change of another record than was meant',
      { operations: [operation(1, add('a', 'm1'))], steps: [step(1, [{ ...one, name: 'b' }])] },
      /has done/,
    ],
    [
      'a change before one that was acknowledged earlier',
      {
        operations: [operation(1, add('a', 'm1')), operation(10, add('b', 'm2'))],
        steps: [step(1, [{ ...two, id: 1 }]), step(2, [{ ...one, id: 2 }])],
      },
      /acknowledged before it/,
    ],
    [
      'a removal that is lost',
      {
        operations: [operation(1, add('a', 'm1')), operation(10, { kind: 'remove', name: 'a' })],
        steps: [step(1, [one])],
      },
      /removals of "a" were acknowledged, and are lost/,
    ],
    [
      'a removal that counts for two',
      {
        operations: [
          operation(1, add('a', 'm1')),
          operation(10, { kind: 'remove', name: 'a' }),
          operation(10, { kind: 'remove', name: 'a' }),
        ],
        steps: [step(1, [one]), step(2, [], ['a'])],
      },
      /1 removals of "a" were acknowledged, and are lost/,
    ],
    [
      'a removal that nobody asked for',
      { operations: [operation(1, add('a', 'm1'))], steps: [step(1, [one]), step(2, [], ['a'])] },
      /asked for by nobody/,
    ],
    [
      'a removal that was asked for only later',
      {
        operations: [
          operation(1, add('a', 'm1')),
          operation(10, add('a', 'm2')),
          operation(20, { kind: 'remove', name: 'a' }, unknown),
        ],
        steps: [step(1, [one]), step(2, [], ['a']), step(3, [{ ...one, id: 2, mark: 'm2' }])],
      },
      /asked for by nobody/,
    ],
    [
      'a name that was refused and free all the time',
      { operations: [operation(1, add('a', 'm1'), { kind: 'refused', status: 409 })] },
      /without a reason/,
    ],
    [
      'a name that was not found and there all the time',
      {
        operations: [
          operation(1, add('a', 'm1')),
          operation(10, { kind: 'remove', name: 'a' }, { kind: 'refused', status: 404 }),
        ],
        steps: [step(1, [one])],
      },
      /without a reason/,
    ],
    [
      'an answer that no change may have',
      { operations: [operation(1, add('a', 'm1'), { kind: 'refused', status: 500 })] },
      /was answered 500/,
    ],
    [
      'a node that shows something else at the end',
      { ...good, ends: [{ where: 'n2', records: [one] }] },
      /n2 ends with 1 a m1, not with 2 b m2/,
    ],
    ['a list that was never so', { ...good, reads: [read(47, 2, [one])] }, /shows 1 a m1/],
    ['a list without what its node has acknowledged', { ...good, reads: [read(16, 0, [])] }, /older than 1/],
    [
      'a fresh list without what another node has acknowledged',
      { ...good, reads: [read(16, 0, [], true, 'n2')] },
      /older than 1/,
    ],
    [
      'a node that goes back',
      { ...good, reads: [read(47, 2, [one, two], false, 'n3'), read(50, 1, [one], false, 'n3')] },
      /comes after one at 2/,
    ],
    [
      'a batch that is written twice',
      {
        operations: [operation(1, add('a', 'm1')), operation(1, add('b', 'm2'))],
        steps: [step(1, [one]), step(2, [two], [], 1)],
      },
      /batch 1 of node n1 follows its batch 1/,
    ],
    [
      'a change without a batch',
      { operations: [operation(1, add('a', 'm1'))], steps: [{ ...step(1, [one]), batches: [] }] },
      /with 0 batches/,
    ],
    ['a removal of what is not there', { steps: [step(1, [], ['a'])] }, /removes "a", which is not there/],
  ]
  for (const [what, history, fault] of bad)
    it(`finds ${what}`, () => {
      assert.match(faultsOf(history).join('\n'), fault)
    })
})
