import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidInputError } from '../../src/errors.ts'
import { LABELS_MAX } from '../../src/limits.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { Access } from '../../src/store/access.ts'
import { filteredChange } from '../../src/store/filtered-change.ts'
import { UnknownNameError } from '../../src/store/refusals.ts'
import { loadStore } from '../support/loaded-store.ts'
import { draft, someone } from '../support/store.ts'

it('a change that would give a record too many labels says nothing of one that is not seen', async () => {
  const labels = Object.fromEntries(Array.from({ length: LABELS_MAX }, (_, i) => [`l${i}`, 'x']))
  const store = loadStore([draft('a/full', { labels }), draft('b/full', { labels })], new Scheduler())
  const principal = { kind: 'client', name: 'team-a', scope: 'write', grants: ['write?prefix=a%2F'] } as const
  const change = (name: string) =>
    store.modify(someone, name, { labelsPatch: { more: 'x' } }, undefined, {
      principal,
      signal: new AbortController().signal,
    })
  await assert.rejects(change('a/full'), InvalidInputError)
  await assert.rejects(change('b/full'), UnknownNameError)
  await assert.rejects(change('b/none'), UnknownNameError)
})

describe('a dry run of somebody whose grants change meanwhile', () => {
  const rights = (...grants: readonly string[]) =>
    ({ kind: 'client', name: 'team', scope: 'write', grants }) as const

  /** Its grants are others when it is judged again. */
  function askerWith(first: readonly string[], then: readonly string[]) {
    const asker = {
      principal: rights(...first),
      signal: new AbortController().signal,
      checkAgain() {
        asker.principal = rights(...then)
      },
    }
    return asker
  }

  const change = filteredChange({ matches: () => true, query: 'all=1', patch: { port: 1 } })
  const limited = ['write?prefix=a%2F']
  const store = () => loadStore([draft('a/one'), draft('b/one')], new Scheduler())

  it('shows only what is seen in the end', async () => {
    const records = store()
    const { modified, tag } = await records.planTogether(change, undefined, askerWith(['write'], limited))
    assert.deepEqual(
      modified.map(({ after }) => after.name),
      ['a/one'],
    )
    assert.equal(tag, records.tagFor(new Access(limited)))
  })

  it('names no record in its refusal that is not seen any more', async () => {
    const asker = askerWith(['read', ...limited], limited)
    const { modified } = await store().planTogether(change, undefined, asker)
    assert.equal(modified.length, 1)
  })
})
