import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { chapters } from '../../src/manual/chapters.ts'
import { missing } from '../support/debian.ts'
import type { tools } from '../support/debian-tools.mjs'
import { openHostShell, openReaderShell } from './host.ts'
import { type Block, blocksOf, readChapterNamed } from './published.ts'
import { assertShown, stepsOf } from './steps.ts'

/** A chapter that says so goes on where the first one ended. */
const GOES_ON = /folder of\s\[start\]\(start\.md\)/

/** A program that only the commands of one chapter use. */
const needs: Record<string, keyof typeof tools> = { https: 'openssl', cluster: 'etcd' }

type Shell = Awaited<ReturnType<typeof openReaderShell | typeof openHostShell>>

async function runBlocks(shell: Shell, blocks: readonly Block[]) {
  for (const { command, output } of blocks.flatMap(({ text }) => stepsOf(text))) {
    const printed = await shell.run(shell.moved(command))
    assertShown({ command, output: output.map(shell.moved) }, printed)
  }
}

const inLanguage = (name: string, language: string) =>
  blocksOf(readChapterNamed(name)).filter((block) => block.language === language)

// Two at a time: some wait for a second to pass.
describe('the manual', { concurrency: 2 }, () => {
  const skip = existsSync('/etc/services')
    ? missing('curl') || missing('openssl') || missing('jq')
    : '/etc/services: apt-get install netbase'

  for (const { name } of chapters) {
    const needed = needs[name]
    const lacks = needed !== undefined && missing(needed)
    const [reader, root] = [inLanguage(name, 'sh'), inLanguage(name, 'shell')]
    if (reader.length > 0) {
      it(`shows what the commands of "${name}" print`, {
        skip: skip || lacks,
      }, async (t: TestContext) => {
        const shell = await openReaderShell(t)
        if (GOES_ON.test(readChapterNamed(name))) await runBlocks(shell, inLanguage('start', 'sh'))
        await runBlocks(shell, reader)
      })
    }
    if (root.length > 0) {
      it(`has commands for a host in "${name}" that work`, {
        skip: skip || lacks,
      }, async (t: TestContext) => {
        await runBlocks(await openHostShell(t), root)
      })
    }
  }

  it('has commands in its chapters', () => {
    assert.ok(chapters.flatMap(({ name }) => inLanguage(name, 'sh')).length > 10)
  })
})
