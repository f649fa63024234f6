import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { InvalidInputError } from '../../src/errors.ts'
import { LABELS_MAX } from '../../src/limits.ts'
import { Scheduler } from '../../src/scheduler.ts'
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
