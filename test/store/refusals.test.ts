import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Configuration } from '../../src/store/configuration.ts'
import {
  NameTakenError,
  StaleListError,
  StaleRecordError,
  UnknownNameError,
} from '../../src/store/refusals.ts'
import { draft } from '../support/store.ts'

describe('a refused change', () => {
  it('has a code for callers, and a message that names the record', () => {
    const holder = new Configuration(7, draft('web'))
    const taken = new NameTakenError('web', holder)
    const said = [taken, new UnknownNameError('web'), new StaleRecordError('web'), new StaleListError()]
    assert.deepEqual(
      said.map(({ code, message }) => [code, message]),
      [
        ['name_taken', 'Cannot take the name "web": the record with id 7 has it'],
        ['unknown_name', 'There is no configuration named "web"'],
        ['stale_record', 'The configuration "web" has changed since it was read; read it again'],
        [
          'stale_record',
          'The records have changed since they were read; nothing has changed; read them again',
        ],
      ],
    )
    assert.equal(taken.holder, holder)
  })
})
