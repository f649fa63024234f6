import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  CONSOLE_BYTES_MAX,
  CONSOLE_GZIP_BYTES_MAX,
  checkConsoleSize,
  makeConsole,
} from '../../.build/console.mjs'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'

const PAGE = '<link rel="stylesheet" href="style.css"><script type="module" src="main.ts"></script>'

/** A folder with the source of a console. */
async function sourceOf(t: Lifetime, source: Partial<Record<'page' | 'script' | 'style', string>> = {}) {
  const folder = await temporaryFolder(t)
  const { page = PAGE, script = 'document.title = "a"', style = 'body { color: red }' } = source
  await writeFile(join(folder, 'index.html'), page)
  await writeFile(join(folder, 'main.ts'), script)
  await writeFile(join(folder, 'style.css'), style)
  return folder
}

const textOf = ({ bytes }: { bytes: Uint8Array }) => Buffer.from(bytes).toString()

describe('makeConsole', () => {
  it('gives the same bytes for the same source, wherever that is', async (t) => {
    assert.deepEqual(await makeConsole(), await makeConsole())
    assert.deepEqual(await makeConsole(await sourceOf(t)), await makeConsole(await sourceOf(t)))
  })

  it('gives each file as gzip, too, which names no system', async () => {
    for (const { bytes, gzip } of await makeConsole()) {
      assert.deepEqual(Buffer.from(gunzipSync(gzip)), Buffer.from(bytes))
      assert.deepEqual([...gzip.subarray(0, 10)], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255])
    }
  })

  it('names script and style by their content, also in the page', async (t) => {
    const [page, script, style] = await makeConsole(await sourceOf(t))
    const [otherPage, otherScript, sameStyle] = await makeConsole(await sourceOf(t, { script: 'alert(1)' }))
    assert.ok(page && script && style && otherPage && otherScript && sameStyle)
    assert.match(script.name, /^main-[\w-]{16}\.js$/)
    assert.match(style.name, /^style-[\w-]{16}\.css$/)
    assert.equal(textOf(page), PAGE.replace('style.css', style.name).replace('main.ts', script.name))
    assert.notEqual(script.name, otherScript.name)
    assert.notEqual(page.etag, otherPage.etag)
    assert.deepEqual(style, sameStyle)
    const tags = [page, script, style].flatMap(({ etag, gzipEtag }) => [etag, gzipEtag])
    assert.equal(new Set(tags).size, 6)
    for (const tag of tags) assert.match(tag, /^"[\w-]{22}"$/)
  })

  it('minifies, and leaves comments out', async (t) => {
    const made = await makeConsole(
      await sourceOf(t, {
        page: `<!-- a comment\n of two lines -->${PAGE}\n  <!---->\n`,
        script: '/*! a comment */\nconst title: string = "é" // a comment\ndocument.title  =  title',
        style: '/*! a comment */\nbody {\n  color: red;\n}\n',
      }),
    )
    const [page = '', script, style] = made.map(textOf)
    assert.ok(!page.includes('<!--') && page.endsWith('</script>\n'))
    assert.equal(script, 'document.title="é";\n')
    assert.equal(style, 'body{color:red}\n')
    for (const text of (await makeConsole()).map(textOf)) assert.doesNotMatch(text, /<!--|\/\*/)
  })

  it('refuses a page that does not refer to script and style once each', async (t) => {
    for (const page of ['', PAGE + PAGE, PAGE.replace('main.ts', 'main.js')]) {
      const making = makeConsole(await sourceOf(t, { page }))
      await assert.rejects(
        making,
        /^Error: Cannot use src\/console\/index\.html: it must have .* once, and has/,
      )
    }
  })
})

describe('checkConsoleSize', () => {
  const fileOf = (bytes: number, gzip: number) => {
    return { bytes: new Uint8Array(bytes), gzip: new Uint8Array(gzip) }
  }

  it('takes the console as it is, and one that is as large as it may be', async () => {
    checkConsoleSize(await makeConsole())
    checkConsoleSize([fileOf(CONSOLE_BYTES_MAX - 1, 1), fileOf(1, CONSOLE_GZIP_BYTES_MAX - 1)])
    assert.deepEqual([CONSOLE_BYTES_MAX, CONSOLE_GZIP_BYTES_MAX], [153_600, 49_152])
  })

  it('refuses one that is larger, and says by how much', () => {
    const limits = 'and may have 153600 and 49152; make src/console smaller, then build again'
    assert.throws(() => checkConsoleSize([fileOf(CONSOLE_BYTES_MAX, 1), fileOf(1, 1)]), {
      message: `Cannot use the console: it has 153601 bytes and 2 as gzip, ${limits}`,
    })
    assert.throws(() => checkConsoleSize([fileOf(1, CONSOLE_GZIP_BYTES_MAX + 1)]), {
      message: `Cannot use the console: it has 1 bytes and 49153 as gzip, ${limits}`,
    })
  })
})
