import { copyFile } from 'node:fs/promises'
import { executable } from '../support/executable.ts'
import { newPath } from './data-folders.ts'
import type { Sample } from './figure.ts'
import { type Memory, settledMemory } from './memory.ts'
import { countText, FEW, MOST } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section, valueAtMost } from './row.ts'
import { type Connbook, node, spawnBareAnswer, startConnbook } from './servers.ts'

const MEBIBYTE = 1024 * 1024

/** Of servers that have nothing to do. */
export async function measureIdleMemory(workshop: string): Promise<Section> {
  // Both run from fresh copies: how much of a program's file is in memory depends on earlier reads.
  const program = await newPath(workshop)
  const nodeCopy = await newPath(workshop)
  await copyFile(executable, program)
  await copyFile(node, nodeCopy)
  const [connbook, bare] = await measureInTurn([
    {
      name: 'connbook',
      async measure() {
        await using server = await startConnbook(await newPath(workshop), { program })
        return sampleOf(await settledMemory(server))
      },
    },
    {
      name: 'bare node:http',
      async measure() {
        await using server = await spawnBareAnswer(nodeCopy)
        await server.untilAnswered('/')
        return sampleOf(await settledMemory(server))
      },
    },
  ])
  return {
    title: 'Memory when idle, without records; PSS shares what several processes have in memory',
    rows: rowsOf('idle', connbook, bare, {
      residentMebibytes: ratioAtMost(1.25),
      proportionalMebibytes: ratioAtMost(1.25),
      anonymousMebibytes: undefined,
    }),
  }
}

/** The memory of the records: the difference between two servers that have just loaded them. */
export async function measureMemoryPerRecord(few: Connbook, most: Connbook): Promise<Section> {
  const ofFew = await settledMemory(few)
  const ofMost = await settledMemory(most)
  const bytesPerRecord = ((ofMost.resident - ofFew.resident) * MEBIBYTE) / (MOST - FEW)
  const samples = [{ ...sampleOf(ofMost), bytesPerRecord }]
  return {
    title: 'Memory with records, some seconds after the start',
    rows: rowsOf(`${countText(MOST)} records`, { name: 'connbook', samples }, undefined, {
      bytesPerRecord: valueAtMost(400),
      residentMebibytes: undefined,
    }),
  }
}

function sampleOf({ resident, proportional, anonymous }: Memory): Sample {
  return { residentMebibytes: resident, proportionalMebibytes: proportional, anonymousMebibytes: anonymous }
}
