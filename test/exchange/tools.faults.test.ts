import '../support/node-version.ts'
import { describe, it } from 'node:test'
import { missing } from '../support/debian.ts'
import { holdLaterFor } from '../support/properties/hold-property.ts'
import { anyRecords, hostnames, meaningful } from './records.ts'
import {
  ansibleLabelsOf,
  askAnsible,
  askShell,
  askSsh,
  assertSeen,
  assertSeenByPsql,
  sshLabelsOf,
} from './tools.ts'

describe('an ssh-config export', { skip: missing('ssh') }, () => {
  it('is read correctly with random names', (t) =>
    holdLaterFor(
      t,
      anyRecords(12, hostnames),
      (records) => assertSeen(t, 'ssh-config', records, askSsh, sshLabelsOf),
      500,
    ))
})

describe('an ansible export', { skip: missing('ansible-inventory') }, () => {
  it('is read correctly with random names', (t) =>
    holdLaterFor(
      t,
      anyRecords(100, hostnames),
      (records) => assertSeen(t, 'ansible', records, askAnsible, ansibleLabelsOf),
      50,
    ))
})

describe('a pg-service export', { skip: missing('psql') }, () => {
  it('is read correctly by psql, with each text of every kind as a name and as a username', (t) =>
    assertSeenByPsql(t, [
      ...meaningful.map((name) => [name, 'ops'] as const),
      ...meaningful.map((username, i) => [`u${i}`, username] as const),
    ]))

  it('is read correctly with random names', (t) =>
    holdLaterFor(
      t,
      anyRecords(8, ['x']),
      (records) =>
        assertSeenByPsql(
          t,
          records.map(({ name, username }) => [name, username] as const),
        ),
      60,
    ))
})

describe('an env export', () => {
  it('is read correctly with random names', (t) =>
    holdLaterFor(t, anyRecords(12, hostnames), (records) => assertSeen(t, 'env', records, askShell), 500))
})
