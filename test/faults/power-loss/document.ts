import assert from 'node:assert/strict'
import { dataFiles } from '../../../src/files/data-folder.ts'
import type { FileSystem } from '../../../src/files/file-system.ts'
import { createJsonDocument } from '../../../src/files/json-document.ts'
import { lifeFolder, type Subject } from './lives.ts'

export interface DocumentRequest {
  readonly size: number
}

interface DocumentState {
  /** Undefined while there is no file. */
  readonly content: string | undefined
}

let serial = 0

/** A small JSON file that is replaced as a whole, by one writer at a time. */
export const documentSubject: Subject<DocumentRequest, DocumentState> = {
  firstState: { content: undefined },
  begin(state) {
    /** The content acknowledged last, and contents written since that failed or got no answer. */
    let possible = [state.content]

    async function readFound(document: ReturnType<typeof openDocument>): Promise<DocumentState> {
      const content = await document.read()
      assert.ok(possible.includes(content), `found ${brief(content)}, not one of ${possible.map(brief)}`)
      return { content }
    }
    return {
      async open(files, seen) {
        const document = openDocument(seen)
        await readFound(document)
        const wrong: unknown[] = []
        let waiting = 0
        let writing = Promise.resolve()
        return {
          request({ size }) {
            if (waiting > 0) return
            serial += 1
            const content = `${serial};`.padEnd(size, `${serial};`)
            possible.push(content)
            waiting += 1
            writing = document.write(content).then(
              () => {
                waiting -= 1
                if (!files.isDead) possible = [content]
              },
              (error: unknown) => {
                waiting -= 1
                if (files.failures === 0) wrong.push(error)
              },
            )
          },
          get waiting() {
            return waiting
          },
          isWritable: true,
          check() {
            if (wrong.length > 0) throw wrong[0]
          },
          close: () => writing,
        }
      },
      async read(files) {
        const found = await readFound(openDocument(files))
        return { found, opened: found }
      },
    }
  },
}

function openDocument(files: FileSystem) {
  const path = lifeFolder.file(dataFiles.accounts)
  return createJsonDocument(
    path,
    { format: 'connbook accounts', version: 1, parse: String },
    'no advice',
    files,
  )
}

function brief(content: string | undefined): string {
  return content === undefined ? 'nothing' : `${content.slice(0, 12)}(${content.length})`
}
