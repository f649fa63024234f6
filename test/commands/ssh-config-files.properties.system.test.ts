import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { takeSshFiles } from '../../src/commands/ssh-config-files.ts'
import { flatSshConfiguration } from '../../src/exchange/ssh-config-format.ts'
import { type LocatedFault, SshConfiguration } from '../../src/exchange/ssh-configuration.ts'
import { resolveHosts } from '../../src/exchange/ssh-resolved.ts'
import { draftsOf } from '../exchange/read-text.ts'
import { missing } from '../support/debian.ts'
import { casesOfSlow, holdLaterFor } from '../support/properties/hold-property.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { askSshAs } from './ssh-meaning.ts'

const name = fc.constantFrom('a', 'b', 'ab', 'web1', 'web2', 'Web1', 'é', 'x.example')
const pattern = fc.constantFrom(
  '*',
  'w*',
  '?',
  '??',
  'web?',
  '*b',
  'a*b',
  '*e*1',
  '!a',
  '!web*',
  '!*',
  '!?',
  '*.*',
)
const hosts = fc.array(fc.oneof({ weight: 2, arbitrary: name }, { weight: 1, arbitrary: pattern }), {
  minLength: 1,
  maxLength: 3,
})

const host = hosts.map((words) => `Host ${words.join(' ')}`)
const value = fc.constantFrom(
  'HostName %h.example',
  'hostname=10.0.0.1',
  'HostName fe80::1%%eth0',
  'Port 22',
  'PORT = 2222',
  'User one',
  'User "two"',
  'ProxyJump none',
  'ProxyJump jump',
  'ProxyJump me@jump:2200,other',
  'PROXYJUMP ssh://me@jump:2200',
  'ProxyCommand none',
  'ProxyCommand nc %h %p',
  'IdentityFile ~/.ssh/one',
  'IdentityFile "/keys/a b"',
  'IdentityFile none',
  'ForwardAgent yes',
  '# a comment',
  'Match host nobody',
  'Match all',
  'Match host *.example',
  'MATCH !host 10.*,*1 originalhost w*,!web2',
  'Match originalhost=ab,WEB1',
  'Match host "fe80::*"',
  'Match !all',
  'Match user one',
  'LocalForward 8080 db:5432',
  'LocalForward [::1]:8081 [::1]:80',
  'Compression yes',
  'TCPKeepAlive true',
  'serveraliveinterval 1m',
)

/** Lines of a file of a level, which includes only files of the next one. */
function linesOf(level: number): fc.Arbitrary<string[]> {
  const next = `l${level + 1}`
  const include = fc
    .constantFrom(
      `${next}/*`,
      `~/.ssh/${next}/a`,
      `${next}/[!b]`,
      `${next}/b ${next}/a`,
      `${next}/?`,
      `no/${next}`,
    )
    .map((path) => `Include ${path}`)
  return fc.array(
    fc.oneof(
      { weight: 4, arbitrary: host },
      { weight: 8, arbitrary: value },
      { weight: level < 3 ? 2 : 0, arbitrary: include },
    ),
    { maxLength: level === 0 ? 16 : 6 },
  )
}

/** The file that is named, and those that it may include. */
const configurations = fc
  .tuple(
    linesOf(0),
    linesOf(1),
    linesOf(1),
    linesOf(2),
    linesOf(2),
    linesOf(3),
    fc.constantFrom('\n', '\r\n'),
  )
  .map(([main, a1, b1, a2, b2, a3, end]) => {
    const texts = { config: main, 'l1/a': a1, 'l1/b': b1, 'l2/a': a2, 'l2/b': b2, 'l3/a': a3 }
    return Object.entries(texts).map(
      ([path, lines]) => [path, lines.map((line) => line + end).join('')] as const,
    )
  })

async function* inPieces(text: string): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7)
}

describe('an SSH configuration with patterns and included files', { skip: missing('ssh') }, () => {
  it('means to ssh what its import means, but for what is named', async (t) => {
    const home = await temporaryFolder(t)
    const folder = join(home, '.ssh')
    for (const level of ['l1', 'l2', 'l3']) await mkdir(join(folder, level), { recursive: true })
    const flat = join(home, 'flat')
    await holdLaterFor(
      t,
      configurations,
      async (texts) => {
        for (const [path, text] of texts) await writeFile(join(folder, path), text)
        const faults: LocatedFault[] = []
        const configuration = new SshConfiguration((fault) => faults.push(fault))
        await takeSshFiles(configuration, inPieces(texts[0]?.[1] ?? ''), { home, folder })
        const defaults = { username: 'somebody', remedy: '--user NAME' }
        const resolved = resolveHosts(configuration, defaults, (fault) => faults.push(fault))
        const drafts = resolved.map(({ draft }) => draft)

        // Every literal name became a record or was named, and what a server gets makes the same records.
        const left = [...configuration.hosts.keys()].filter(
          (alias) => !drafts.some((draft) => draft.name === alias),
        )
        for (const alias of left)
          assert.ok(
            faults.some((fault) => fault.name === alias),
            alias,
          )
        if (drafts.length === 0) return
        const text = [...flatSshConfiguration(drafts)].join('')
        assert.deepEqual(draftsOf('ssh-config', text), drafts)

        // What such a section gives to a host is named as lost.
        if (faults.some(({ field }) => field === 'Match')) return
        await writeFile(flat, text)
        const names = drafts.map((draft) => draft.name)
        const [before, after] = await Promise.all([
          askSshAs(home, join(folder, 'config'), names),
          askSshAs(home, flat, names),
        ])
        for (const [i, meaning] of before.entries()) {
          const { identities, user = 'somebody', ...rest } = meaning
          assert.deepEqual(after[i], { ...rest, user, identities: identities.slice(0, 1) }, `${names[i]}`)
          const isNamed = faults.some(
            ({ field, detail }) => field === 'IdentityFile' && detail.startsWith('is not'),
          )
          if (identities.length > 1) assert.ok(isNamed)
        }
        assert.equal(before.length, names.length)
      },
      casesOfSlow(15, 300),
    )
  })
})
