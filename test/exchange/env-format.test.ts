import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { envFormat } from '../../src/exchange/env-format.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

const record = (name: string, username = 'ops') => new Configuration(1, draft(name, { username }))

describe('a record as variables', () => {
  it('has a variable for each field, with text quoted and numbers plain', () => {
    assert.equal(
      envFormat.encode(record('web 1', 'it\'s $HOME "x"')),
      [
        "CONNBOOK_WEB_1_NAME='web 1'",
        "CONNBOOK_WEB_1_HOSTNAME='host.example'",
        'CONNBOOK_WEB_1_PORT=22',
        `CONNBOOK_WEB_1_USERNAME='it'\\''s $HOME "x"'`,
        '',
      ].join('\n'),
    )
  })

  it('has its name in capitals, with an underscore for each other character', () => {
    assert.equal(envFormat.keyOf?.(record('a-b.é\u{1f600}9')), 'CONNBOOK_A_B___9')
  })

  it('is left out when its name has no letter or digit, or clashes with a variable of connbook', () => {
    assert.match(envFormat.obstacle?.(record('日本')) ?? '', /^has a name without a letter or digit/)
    for (const name of ['admin', 'Admin'])
      assert.match(envFormat.obstacle?.(record(name)) ?? '', /itself reads$/)
    for (const name of ['a', '日9', 'admins']) assert.equal(envFormat.obstacle?.(record(name)), undefined)
  })
})
