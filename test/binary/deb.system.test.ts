import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Commit } from '../../.build/commit.mjs'
import { nodeParts } from '../../.build/node-parts.mjs'
import { missing } from '../support/debian.ts'
import { executable } from '../support/executable.ts'
import { complaints, EXPOSURE_MAX, exposure } from '../support/systemd-analyze.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'
import { ownArch, pack, smallProgram } from './deb.ts'

const run = promisify(execFile)

const commit: Commit = {
  hash: '089af0ed91d0f4a1ab6cc1b4b8f5c2f1f3f2e1d0',
  day: '2026-11-28',
  seconds: Date.UTC(2026, 10, 28, 23, 59) / 1000,
}

/** Sets a variable for what a test does, or unsets it. */
async function withVariable<T>(name: string, value: string | undefined, work: () => Promise<T>): Promise<T> {
  const before = process.env[name]
  const set = (to: string | undefined) => {
    if (to === undefined) delete process.env[name]
    else process.env[name] = to
  }
  set(value)
  return work().finally(() => set(before))
}

/** The fields of a package's control file; a long description is not one. */
async function fieldsOf(made: string): Promise<Map<string, string>> {
  const { stdout } = await run('dpkg-deb', ['--field', made])
  return new Map(Array.from(stdout.matchAll(/^(\S+): (.*)$/gm), ([, name = '', value = '']) => [name, value]))
}

async function extracted(t: Lifetime): Promise<string> {
  const folder = await temporaryFolder(t)
  await run('dpkg-deb', ['--extract', await pack(t, await smallProgram(t), '1.2.3'), folder])
  return folder
}

/** The highest version of a name of symbols that the executable asks the libraries for. */
function highest(names: string, prefix: string): string {
  const found = Array.from(
    names.matchAll(new RegExp(`\\0${prefix}_([\\d.]+)(?=\\0)`, 'g')),
    ([, of = '']) => of,
  )
  return found.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1) ?? assert.fail(prefix)
}

describe('the package for Debian', { skip: missing('dpkg-deb') }, () => {
  it('has the same bytes for the same executable, whoever packs it', async (t) => {
    const program = await smallProgram(t)
    const before = process.umask(0o027)
    const first = await pack(t, program, '1.2.3').finally(() => process.umask(before))
    const second = await pack(t, program, '1.2.3')
    assert.equal(basename(first), `connbook_1.2.3_${ownArch}.deb`)
    assert.deepEqual(await readFile(first), await readFile(second))
  })

  it('has the time of the commit, else of the day of the release, or that of SOURCE_DATE_EPOCH', async (t) => {
    const program = await smallProgram(t)
    const timesIn = async (made: string) => {
      const { stdout } = await run('dpkg-deb', ['--contents', made], { env: { ...process.env, TZ: 'UTC' } })
      return new Set(stdout.match(/\d{4}-\d\d-\d\d \d\d:\d\d/g))
    }
    const packed = (commit?: Commit) =>
      withVariable('SOURCE_DATE_EPOCH', undefined, () =>
        pack(t, program, '1.2.3', commit === undefined ? {} : { commit }),
      )
    assert.deepEqual([...(await timesIn(await packed(commit)))], ['2026-11-28 23:59'])
    const [time = '', ...others] = await timesIn(await packed())
    assert.match(time, / 00:00$/)
    assert.deepEqual(others, [])
    // One that is to come is kept, too.
    for (const [epoch, text] of [
      ['86400', '1970-01-02 00:00'],
      ['4102444800', '2100-01-01 00:00'],
    ]) {
      const given = await withVariable('SOURCE_DATE_EPOCH', epoch, () => pack(t, program, '1.2.3'))
      assert.deepEqual([...(await timesIn(given))], [text])
    }
    await assert.rejects(
      withVariable('SOURCE_DATE_EPOCH', 'today', () => pack(t, program, '1.2.3')),
      /Cannot take SOURCE_DATE_EPOCH "today"/,
    )
  })

  it('has a program, a unit, options, man pages, completions and notices, all of root', async (t) => {
    const made = await pack(t, await smallProgram(t), '1.2.3')
    const { stdout } = await run('dpkg-deb', ['--contents', made])
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/\s+/))
    for (const [mode, owner, , , , path = ''] of rows) {
      const expected = path.endsWith('/')
        ? 'drwxr-xr-x'
        : ['./usr/bin/connbook', './usr/share/connbook/inventory'].includes(path)
          ? '-rwxr-xr-x'
          : '-rw-r--r--'
      assert.deepEqual([mode, owner], [expected, 'root/root'], path)
    }
    const paths = rows.map(([, , , , , path]) => path)
    for (const path of [
      'etc/default/connbook',
      'usr/lib/systemd/system/connbook.service',
      'usr/share/connbook/inventory',
      'usr/share/man/man1/connbook-ls.1.gz',
      'usr/share/man/man7/connbook-backup.7.gz',
      'usr/share/bash-completion/completions/connbook',
      'usr/share/zsh/vendor-completions/_connbook',
      'usr/share/fish/vendor_completions.d/connbook.fish',
      'usr/share/doc/connbook/copyright',
    ])
      assert.ok(paths.includes(`./${path}`), path)
  })

  it('is of the machine it is made for, and older than its release before that is out', async (t) => {
    const program = await smallProgram(t)
    const fields = await fieldsOf(await pack(t, program, '1.2.3', { arch: 'arm64' }))
    assert.equal(fields.get('Architecture'), 'arm64')
    assert.equal(fields.get('Version'), '1.2.3')
    const candidate = (await fieldsOf(await pack(t, program, '1.2.3-rc.1'))).get('Version') ?? ''
    await run('dpkg', ['--compare-versions', candidate, 'lt', '1.2.3'])
  })

  it('names its commit, and is newer than one of an earlier day', async (t) => {
    const program = await smallProgram(t)
    const made = await pack(t, program, '1.2.3', { commit })
    assert.equal(basename(made), `connbook_1.2.3+20261128.g089af0ed_${ownArch}.deb`)
    const own = (await fieldsOf(made)).get('Version') ?? ''
    assert.equal(own, '1.2.3+20261128.g089af0ed')
    for (const [other, order] of [
      ['1.2.3', 'gt'],
      ['1.2.3+20261127.gffffffff', 'gt'],
      ['1.2.3+20261201.g00000000', 'lt'],
      ['1.2.4~rc.1', 'lt'],
    ] as const)
      await run('dpkg', ['--compare-versions', own, order, other])
  })

  it('depends on the libraries in the versions that the executable needs', async (t) => {
    const names = await readFile(executable, 'latin1')
    // GCC 7 brought the last of these; libatomic has had no other version.
    assert.equal(highest(names, 'CXXABI'), '1.3.11')
    assert.equal(highest(names, 'GLIBCXX'), '3.4.21')
    assert.equal(highest(names, 'LIBATOMIC'), '1.0')
    const libc = highest(names, 'GLIBC')
    assert.equal(libc, '2.28', 'the chapter debian says that it works on Debian 10, which has this one')
    const fields = await fieldsOf(await pack(t, await smallProgram(t), '1.2.3'))
    assert.equal(fields.get('Depends'), `libc6 (>= ${libc}), libstdc++6 (>= 7), libatomic1 (>= 4.8)`)
  })

  it('has a unit of its own account that systemd accepts and rates as safe', {
    skip: missing('systemd-analyze'),
  }, async (t) => {
    const folder = await extracted(t)
    const unit = join(folder, 'usr/lib/systemd/system/connbook.service')
    const text = await readFile(unit, 'utf8')
    for (const line of [
      'DynamicUser=yes',
      'StateDirectory=connbook',
      'EnvironmentFile=-/etc/default/connbook',
      'ExecStart=/usr/bin/connbook --data=/var/lib/connbook',
    ])
      assert.ok(text.includes(`\n${line}\n`), line)
    assert.ok((await exposure(unit)) <= EXPOSURE_MAX)
    await writeFile(unit, text.replace('=/usr/bin/connbook ', `=${folder}/usr/bin/connbook `))
    assert.equal(await complaints(unit), '')
  })

  it('says in the form of Debian whose each part of Node is, and under which licence', async (t) => {
    const text = await readFile(join(await extracted(t), 'usr/share/doc/connbook/copyright'), 'utf8')
    const [head = '', ...stanzas] = text.trimEnd().split('\n\n')
    assert.match(
      head,
      /^Format: https:\/\/www\.debian\.org\/doc\/packaging-manuals\/copyright-format\/1\.0\/\n/,
    )
    for (const stanza of stanzas)
      assert.match(stanza, /^Files: \S+\nCopyright: .+\n(?: .+\n)*License: [\w.-]+\n(?: .+(?:\n|$))+$/)
    const openssl = stanzas.find((stanza) => stanza.startsWith('Files: node/deps/openssl/*\n')) ?? ''
    assert.match(openssl, /\nCopyright: the authors of OpenSSL\nLicense: Apache-2\.0\n/)
    const acorn = stanzas.find((stanza) => stanza.startsWith('Files: node/deps/acorn/*\n')) ?? ''
    assert.match(
      acorn,
      /\nCopyright: \(C\) 2012-\d{4} by various contributors \(see AUTHORS\)\nLicense: MIT\n MIT License\n \.\n/,
    )
    // Some parts have no notice in Node's LICENSE.
    const silent = ['libffi', 'nbytes', 'ncrypto', 'sqlite']
    assert.equal(stanzas.length, 2 + nodeParts.length - silent.length)
    assert.ok(!text.includes('node/deps/npm'))
  })

  it('says which program is missing to make it', async (t) => {
    const program = await smallProgram(t)
    await assert.rejects(
      withVariable('PATH', '', () => pack(t, program, '1.2.3')),
      /Cannot make .*connbook_1\.2\.3_.*: dpkg-deb is missing/,
    )
  })
})
