import assert from 'node:assert/strict'
import { readBlock } from '../manual/published.ts'
import { stepsOf } from '../manual/steps.ts'

const CHAPTER = 'container'

/** The image that the chapter's Dockerfile describes. */
export interface Image {
  /** Packages installed into the base image. */
  readonly packages: readonly string[]
  /** Where the executable is put. */
  readonly copiedTo: string
  readonly environment: Readonly<Record<string, string>>
  readonly uid: string
  readonly gid: string
  readonly healthcheck: readonly string[]
  readonly entrypoint: readonly string[]
}

/** The container that the chapter's commands run. */
export interface Container {
  /** The lines before it, which prepare the host. */
  readonly preparation: readonly string[]
  readonly isReadOnly: boolean
  readonly stopTimeoutSeconds: number
  /** The port in the container that is published. */
  readonly port: number
  /** Mounts: path in the container to path on the host. */
  readonly mounts: Readonly<Record<string, string>>
  readonly environment: Readonly<Record<string, string>>
}

export function readImage(): Image {
  const lines = readBlock(CHAPTER, 'dockerfile').trimEnd().split('\n')
  const instructions = new Map(lines.map((line) => [/^[A-Z]+/.exec(line)?.[0] ?? '', line]))
  assert.equal(instructions.size, lines.length, 'an instruction is there twice, or a line is none')
  const take = (pattern: RegExp) => {
    const name = /\w+/.exec(pattern.source)?.[0] ?? ''
    const found = pattern.exec(instructions.get(name) ?? '') ?? assert.fail(`no ${pattern} in the Dockerfile`)
    instructions.delete(name)
    return found.slice(1)
  }
  take(/^FROM debian:stable-slim$/)
  const [packages = ''] = take(
    /^RUN apt-get update && apt-get install -y --no-install-recommends ([\w ]+) && /,
  )
  const [copiedTo = ''] = take(/^COPY connbook (\/\S+)$/)
  const [variable = '', value = ''] = take(/^ENV (\w+)=(\S+)$/)
  const [uid = '', gid = ''] = take(/^USER (\d+):(\d+)$/)
  const [healthcheck = ''] = take(/^HEALTHCHECK CMD (\[.+\])$/)
  const [entrypoint = ''] = take(/^ENTRYPOINT (\[.+\])$/)
  assert.deepEqual([...instructions.values()], [], 'the tests do not know what these do')
  return {
    packages: packages.split(' '),
    copiedTo,
    environment: { [variable]: value },
    uid,
    gid,
    healthcheck: JSON.parse(healthcheck) as string[],
    entrypoint: JSON.parse(entrypoint) as string[],
  }
}

export function readContainer(): Container {
  const block = readBlock(CHAPTER, 'shell', 'Docker')
  const commands = stepsOf(block).map(({ command }) => command.replaceAll('\\\n', ''))
  const [run = '', build, ...before] = commands.toReversed()
  assert.equal(build, 'docker build -t connbook .')
  const options = / run -d (.+) connbook$/.exec(run)?.[1] ?? assert.fail(`"${run}" does not run the image`)
  const valuesOf = (flag: string) =>
    Array.from(options.matchAll(new RegExp(`${flag} (\\S+)`, 'g')), ([, value = '']) => value)
  return {
    preparation: before.toReversed(),
    isReadOnly: options.includes('--read-only'),
    stopTimeoutSeconds: Number(valuesOf('--stop-timeout')[0]),
    port: Number(valuesOf('-p')[0]?.split(':').at(-1)),
    mounts: Object.fromEntries(
      valuesOf('-v').map((mount) => {
        const [outside = '', inside = ''] = mount.split(':')
        return [inside, outside]
      }),
    ),
    environment: Object.fromEntries(
      valuesOf('-e').map((assignment) => {
        const [variable = '', value = ''] = assignment.split('=')
        return [variable, value]
      }),
    ),
  }
}
