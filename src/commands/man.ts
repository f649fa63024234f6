import { chmod, mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Command, defineCommand } from '../command-line/command.ts'
import { type ManPage, manPages } from '../command-line/man-pages.ts'
import { adviceFor } from '../command-line/nearest.ts'
import { shown } from '../command-line/output.ts'
import { UsageError } from '../errors.ts'
import { realFileSystem } from '../files/file-system.ts'
import { lookBefore, replaceFile } from '../files/replaced-file.ts'
import { abortOnSignals } from './written-file.ts'

const CANNOT_WRITE = 'Cannot write the man page'

/** @param commands Those that the pages describe. */
export const manCommandOf = (commands: () => readonly Command[]) =>
  defineCommand({
    name: 'man',
    operands: '[PAGE]',
    completes: 'topics',
    summary: 'print a page for man(1), or write all of them',
    examples: [
      ['connbook man ls | man -l -', 'read the page of a command'],
      ['connbook man connbook-backup.7 | man -l -', 'the chapter, not the command'],
      ['connbook man --write /usr/local/share/man', 'as files in man1 and man7'],
    ],
    notes: ['Without PAGE it is the page of connbook itself.'],
    flags: ['write'],
    async run({ options: { write }, operands: [name] }, { print }) {
      const pages = manPages(commands())
      if (write === undefined)
        return void (await shown(print(getPage(pages, name ?? 'connbook').text()), 'show the page'))
      if (name !== undefined)
        throw new UsageError('Write it as: connbook man --write FOLDER, which writes all pages')
      await writePages(pages, write)
    },
  })

/** @param name With or without `connbook-` and a section: of equal names, the command comes first. */
function getPage(pages: readonly ManPage[], name: string): ManPage {
  const [, base = name, section] = /^(?:connbook-)?(.*?)(?:\.(\d))?$/.exec(name) ?? []
  const page = pages.find((each) => {
    const isNamed = each.name === base || each.name === `connbook-${base}`
    return isNamed && (section === undefined || Number(section) === each.section)
  })
  if (page !== undefined) return page
  const known = pages.map((each) => each.name.replace('connbook-', ''))
  throw new UsageError(`There is no page "${name}"; ${adviceFor(base, known, 'see connbook help')}`)
}

async function writePages(pages: readonly ManPage[], folder: string): Promise<void> {
  using interruption = abortOnSignals()
  for (const page of pages) {
    const place = join(folder, `man${page.section}`)
    await makeFolder(place)
    const path = join(place, `${page.name}.${page.section}`)
    await replaceFile(path, CANNOT_WRITE, (write) => write(page.text()), interruption.signal, realFileSystem)
    await chmod(path, 0o644)
  }
}

/** For everybody, whatever else this program makes for its own account alone. */
async function makeFolder(place: string): Promise<void> {
  const first = await lookBefore(mkdir(place, { recursive: true }), CANNOT_WRITE, place)
  if (first === undefined) return
  const highest = resolve(first)
  for (let made = resolve(place); made.startsWith(highest); made = dirname(made)) await chmod(made, 0o755)
}
