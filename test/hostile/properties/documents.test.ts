import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { parseAccounts } from '../../../src/auth/accounts-file.ts'
import { forgetInitialCredentials } from '../../../src/auth/initial-credentials.ts'
import { readKeys, toSigningKey } from '../../../src/auth/keys.ts'
import { isPasswordHash } from '../../../src/auth/password.ts'
import { readRevocations } from '../../../src/auth/revocations-file.ts'
import { signToken, verifyToken } from '../../../src/auth/signed-token.ts'
import { DamagedFileError } from '../../../src/errors.ts'
import { dataFiles, dataPaths } from '../../../src/files/data-folder.ts'
import { createJsonDocument, seal } from '../../../src/files/json-document.ts'
import { KEYS_MAX } from '../../../src/limits.ts'
import { anyByteEdit, applyByteEdit } from './byte-edits.ts'
import { holdFor, holdLaterFor } from './hold-property.ts'
import { memoryFile } from './memory-file.ts'
import { createMemoryFiles } from './memory-files.ts'
import { anyText, shortName, treacherousNames } from './texts.ts'

const folder = dataPaths('/data')
const odd = fc.constantFrom<unknown>(null, 0, 1.5, '', 'x', true, [], {}, [[]], { name: 'a' })
/** A value of JSON in which a few members are of another kind, or not there. */
function spoilt(value: fc.Arbitrary<object>, members: readonly string[]): fc.Arbitrary<unknown> {
  const changes = fc.array(
    fc.tuple(fc.constantFrom(...members, ...treacherousNames), fc.option(odd, { nil: undefined })),
    { maxLength: 2 },
  )
  return fc
    .tuple(value, changes)
    .map(([whole, some]) => JSON.parse(JSON.stringify({ ...whole, ...Object.fromEntries(some) })))
}

/** Whether an object has those members and no others. */
function hasOnly(input: object, members: readonly string[]): boolean {
  return Object.keys(input).every((member) => members.includes(member))
}

describe('a small JSON file', () => {
  const SECRET = 'the secret that is in it'
  const files = createMemoryFiles()
  const document = createJsonDocument(
    '/data/accounts.json',
    'connbook accounts',
    (input) => input,
    'no advice',
    files,
  )

  it('gives back what was written', async (t) => {
    await holdLaterFor(t, fc.jsonValue({ maxDepth: 1 }), async (content) => {
      await document.write(content)
      assert.deepEqual([...files.contents.keys()], ['accounts.json'])
      assert.equal(JSON.stringify(await document.read()), JSON.stringify(content))
    })
  })

  it('damaged in one place is refused, or says the same; a refusal tells no secret', async (t) => {
    const contents = fc.record(
      { secret: fc.constant(SECRET), other: fc.constantFrom<unknown>(1, 'a', [], null, 1e21) },
      { noNullPrototype: true },
    )
    await holdLaterFor(t, fc.tuple(contents, anyByteEdit), async ([content, edit]) => {
      const text = `${JSON.stringify(seal('connbook accounts', content), null, 2)}\n`
      files.contents.set('accounts.json', applyByteEdit(Buffer.from(text), edit))
      try {
        assert.deepEqual(await document.read(), content)
      } catch (error) {
        if (!(error instanceof DamagedFileError)) throw error
        assert.equal(error.message.includes(SECRET.slice(0, 6)), false)
      }
    })
  })
})

const hash =
  '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'

describe('accounts', () => {
  const secret = fc.oneof(
    fc.constantFrom(hash, 'sha256:x', 'sha256:'),
    fc.constantFrom(
      '',
      'md5:x',
      'sha256',
      'SHA256:x',
      hash.slice(1),
      hash.slice(0, 40),
      `${hash} `,
      hash.replace('id', 'i'),
    ),
  )
  const scope = fc.constantFrom<unknown>(
    'read',
    'read write',
    'read',
    'write',
    'write read',
    '',
    'Read',
    null,
    [],
  )
  const account = fc.record(
    { name: anyText, secret, generation: fc.nat(), scope },
    { requiredKeys: ['name', 'secret', 'generation'], noNullPrototype: true },
  )
  const entry = fc.oneof(
    { weight: 6, arbitrary: account },
    { weight: 1, arbitrary: spoilt(account, ['name', 'secret', 'generation', 'scope']) },
    { weight: 1, arbitrary: odd },
  )
  const list = fc.array(entry, { maxLength: 2 })
  const whole = fc.record({ lastGeneration: fc.nat(), users: list, clients: list }, { noNullPrototype: true })

  it('are what they say, or none', (t) => {
    const isAccount = (input: unknown) => {
      const { name, secret: stored, generation, scope: allowed } = Object(input)
      const isStored = typeof stored === 'string' && (stored.startsWith('sha256:') || stored === hash)
      const isAllowed = allowed === undefined || allowed === 'read' || allowed === 'read write'
      const isKnown = hasOnly(Object(input), ['name', 'secret', 'generation', 'scope'])
      return isKnown && typeof name === 'string' && isStored && typeof generation === 'number' && isAllowed
    }
    holdFor(
      t,
      fc.oneof(
        { weight: 6, arbitrary: spoilt(whole, ['users', 'clients', 'lastGeneration']) },
        { weight: 1, arbitrary: odd },
      ),
      (input) => {
        const { lastGeneration, users, clients } = Object(input)
        const lists = [users, clients]
        const isGood =
          typeof lastGeneration === 'number' &&
          hasOnly(Object(input), ['lastGeneration', 'users', 'clients']) &&
          lists.every((some) => Array.isArray(some) && some.every(isAccount))
        if (!isGood) {
          assert.throws(() => parseAccounts(input), SyntaxError)
          return
        }
        assert.deepEqual(parseAccounts(input), { lastGeneration, users, clients })
      },
    )
  })

  it('have a password only in a form that can be computed', (t) => {
    const parts = fc.tuple(
      fc.constantFrom('$argon2id', '$argon2id', '$argon2i', 'argon2id', ''),
      fc.constantFrom('$v=19', '$v=19', '$v=16', ''),
      fc.constantFrom(
        '$m=19456,t=2,p=1',
        '$m=8,t=1,p=1',
        '$m=19456,p=1,t=2',
        '$m=99999999,t=2,p=1',
        '$m=,t=2,p=1',
        '$m=-8,t=2,p=1',
      ),
      fc.constantFrom('$AAAAAAAAAAA', '$AAAAAAAAAA', '$+/+/+/+/+/+/', '$-_-_-_-_-_-_', '$'),
      fc.constantFrom('$AAAAAAAAAAAAAAAA', '$AAAAAAAAAAAAAAA', '$', '', '$AAAAAAAAAAAAAAAA$'),
    )
    holdFor(t, parts, (some) => {
      const [algorithm, version, cost, salt, tag] = some
      const isGood =
        algorithm === '$argon2id' &&
        version === '$v=19' &&
        (cost === '$m=19456,t=2,p=1' || cost === '$m=8,t=1,p=1') &&
        (salt === '$AAAAAAAAAAA' || salt === '$+/+/+/+/+/+/') &&
        tag === '$AAAAAAAAAAAAAAAA'
      assert.equal(isPasswordHash(some.join('')), isGood)
    })
  })
})

describe('signing keys', () => {
  const files = createMemoryFiles()
  const claims = { iss: 'connbook', sub: 'a', aud: 'api', iat: 1, exp: 2, jti: 'j', gen: 1 } as const
  const secret = fc
    .uint8Array({ minLength: 31, maxLength: 33 })
    .map((bytes) => Buffer.from(bytes).toString('base64url'))
  const times = ['created', 'ttl', 'serverTtl', 'until'] as const
  /** The last moment that a date can tell. */
  const lastMoment = 8.64e12
  const time = fc.oneof(
    { weight: 8, arbitrary: fc.nat() },
    { weight: 1, arbitrary: fc.constantFrom(0, lastMoment, lastMoment + 1, -1, 0.5, 2 ** 53, 1e21) },
  )
  const key = fc.record(
    { id: anyText, secret, created: time, ttl: time, serverTtl: time, until: time },
    { requiredKeys: ['id', 'secret'], noNullPrototype: true },
  )
  const signing = key.map(({ until: _, ...others }) => others)
  const good = { id: 'k', secret: 'A'.repeat(43) }
  const entry = fc.oneof(
    { weight: 8, arbitrary: key },
    { weight: 1, arbitrary: spoilt(key, ['id', 'secret', ...times]) },
    { weight: 1, arbitrary: odd },
  )
  const keys = fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .tuple(
          fc.oneof({ weight: 3, arbitrary: signing }, { weight: 1, arbitrary: entry }),
          fc.array(entry, { maxLength: 2 }),
        )
        .map(([first, others]) => [first, ...others]),
    },
    { weight: 1, arbitrary: fc.array(entry, { maxLength: 1 }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(entry, fc.integer({ min: KEYS_MAX - 2, max: KEYS_MAX + 1 }))
        .map(([last, length]) => [...Array(length).fill(good), last]),
    },
  )

  it('sign and verify when each of them is one and the first signs, and are damage otherwise', async (t) => {
    const inputs = fc.oneof({ weight: 16, arbitrary: keys }, { weight: 1, arbitrary: odd })
    await holdLaterFor(t, inputs, async (input) => {
      files.contents.set(dataFiles.keys, Buffer.from(JSON.stringify(seal('connbook keys', input))))
      const isTime = (value: unknown) =>
        value === undefined || (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= lastMoment)
      const isKey = (each: unknown) => {
        const { id, secret: encoded, ...others } = Object(each)
        return (
          hasOnly(Object(each), ['id', 'secret', ...times]) &&
          typeof id === 'string' &&
          typeof encoded === 'string' &&
          Buffer.from(encoded, 'base64url').length === 32 &&
          times.every((name) => isTime(others[name]))
        )
      }
      const isGood =
        Array.isArray(input) &&
        input.length <= KEYS_MAX &&
        input.every(isKey) &&
        (input.length === 0 || !Object.hasOwn(input[0], 'until'))
      const reading = readKeys({ ...folder, files }, true)
      if (!isGood) {
        await assert.rejects(reading, DamagedFileError)
        return
      }
      const found = await reading
      assert.deepEqual(found, input)
      const all = found.map(toSigningKey)
      for (const each of all) {
        // Of two keys of one id the first counts.
        const isFirst = all.find(({ header }) => header === each.header) === each
        if (isFirst) assert.deepEqual(verifyToken(signToken(claims, each), all), claims)
      }
    })
  })
})

describe('ended credentials', () => {
  it('are what their changes say, up to the first that says nothing', async (t) => {
    const change = fc.oneof(
      { weight: 4, arbitrary: fc.record({ jti: shortName, exp: fc.nat() }) as fc.Arbitrary<unknown> },
      { weight: 2, arbitrary: fc.record({ passed: fc.nat() }) },
      { weight: 1, arbitrary: spoilt(fc.record({ jti: anyText, exp: fc.nat() }), ['jti', 'exp']) },
      { weight: 1, arbitrary: odd },
    )
    await holdLaterFor(t, fc.array(change, { maxLength: 4 }), async (changes) => {
      const ended = new Map<string, number>()
      let passed = 0
      let isGood = true
      for (const each of changes) {
        const { jti, exp, passed: moment } = Object(each)
        const isKnown = (members: string[]) => hasOnly(Object(each), members)
        if (typeof jti === 'string' && typeof exp === 'number' && isKnown(['jti', 'exp'])) ended.set(jti, exp)
        else if (typeof moment === 'number' && isKnown(['passed'])) passed = Math.max(passed, moment)
        else isGood = false
      }
      const end = { size: 0, crc: 0, revision: 0, beforeLast: 0, tornBytes: 0 }
      const unused = () => assert.fail('nobody asks for this')
      const reading = readRevocations(
        {
          path: folder.file(dataFiles.revocations),
          file: memoryFile(Buffer.alloc(0)),
          header: { store: 's', after: 0 },
          async read(visit) {
            for (const [i, each] of changes.entries()) visit(each, i + 1)
            return end
          },
          cut: unused,
          close: async () => {},
        },
        folder,
      )
      if (isGood) assert.deepEqual(await reading, { ended, passed, end })
      else await assert.rejects(reading, SyntaxError)
    })
  })
})

describe('the initial credentials', () => {
  it('lose what has changed and nothing else, and are left alone when they are none', async (t) => {
    const name = fc.constantFrom('admin', 'default', '__proto__', '')
    const member = fc.oneof(
      { weight: 4, arbitrary: name as fc.Arbitrary<unknown> },
      { weight: 1, arbitrary: odd },
    )
    const content = fc.oneof(
      {
        weight: 5,
        arbitrary: fc
          .record(
            { username: member, password: member, client_id: member, client_secret: member, note: member },
            { requiredKeys: [], noNullPrototype: true },
          )
          .map((some) => JSON.stringify(some)),
      },
      { weight: 1, arbitrary: fc.oneof(anyText, fc.json({ maxDepth: 1 })) },
    )
    await holdLaterFor(
      t,
      fc.tuple(content, fc.constantFrom<'user' | 'client'>('user', 'client'), name),
      async ([text, kind, changed]) => {
        const files = createMemoryFiles()
        const before = Buffer.from(text)
        files.contents.set(dataFiles.initialCredentials, before)
        await forgetInitialCredentials({ ...folder, files }, kind, changed)
        const after = files.contents.get(dataFiles.initialCredentials)
        let input: Record<string, unknown> | undefined
        try {
          const parsed = JSON.parse(before.toString())
          if (Object.prototype.toString.call(parsed) === '[object Object]') input = parsed
        } catch {
          // Then it is to be left alone.
        }
        const [nameMember, secretMember] =
          kind === 'user' ? ['username', 'password'] : ['client_id', 'client_secret']
        if (input === undefined || !Object.hasOwn(input, nameMember) || input[nameMember] !== changed) {
          assert.equal(after, before)
          return
        }
        const left = Object.entries(input).filter(([each]) => each !== nameMember && each !== secretMember)
        if (left.length === 0) assert.equal(after, undefined)
        else assert.deepEqual(JSON.parse(String(after)), Object.fromEntries(left))
      },
    )
  })
})
