import { copyOf, labelledFieldsOf, newPath } from './data-folders.ts'
import type { Sample, Series } from './figure.ts'
import { type Memory, settledMemory } from './memory.ts'
import { countText, FEW, MOST, prepareFolder } from './prepared-folders.ts'
import { LONG_ROUNDS, measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section, valueAtMost } from './row.ts'
import { copyPrograms, spawnBareAnswer, startConnbook } from './servers.ts'

const MEBIBYTE = 1024 * 1024

/** Measures the memory of servers that have nothing to do. */
export async function measureIdleMemory(workshop: string): Promise<Section> {
  const programs = await copyPrograms(workshop)
  const [connbook, bare] = await measureInTurn([
    {
      name: 'connbook',
      async measure() {
        await using server = await startConnbook(await newPath(workshop), { program: [programs.connbook] })
        return sampleOf(await settledMemory(server))
      },
    },
    {
      name: 'bare node:http',
      async measure() {
        await using server = await spawnBareAnswer(programs.node)
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
export async function measureMemoryPerRecord(
  { few, most }: { readonly few: string; readonly most: string },
  workshop: string,
): Promise<Section> {
  const folders = { few: await copyOf(few, workshop), most: await copyOf(most, workshop) }
  const connbook = await measureDifference(folders, MOST)
  return {
    title: 'Memory with records, some seconds after the start',
    rows: rowsOf(`${countText(MOST)} records`, connbook, undefined, {
      bytesPerRecord: valueAtMost(400),
      residentMebibytes: undefined,
    }),
  }
}

/**
 * The same of records with labels.
 *
 * @param few A folder with FEW records.
 * @param records Fewer for a trial.
 */
export async function measureMemoryOfLabels(few: string, workshop: string, records = MOST): Promise<Section> {
  const most = await prepareFolder(workshop, records, labelledFieldsOf)
  const connbook = await measureDifference({ few: await copyOf(few, workshop), most }, records)
  return {
    title: 'Memory with records that have four labels, one of them with a value of its own',
    rows: rowsOf(`${countText(records)} records with four labels`, connbook, undefined, {
      bytesPerRecord: valueAtMost(700),
      residentMebibytes: undefined,
    }),
  }
}

/** @param records Those of the folder `most`; `few` has FEW. */
async function measureDifference(
  { few, most }: { readonly few: string; readonly most: string },
  records: number,
): Promise<Series> {
  const memoryWith = async (folder: string) => {
    await using server = await startConnbook(folder)
    return await settledMemory(server)
  }
  const measure = async () => {
    const ofFew = await memoryWith(few)
    const ofMost = await memoryWith(most)
    const bytesPerRecord = ((ofMost.resident - ofFew.resident) * MEBIBYTE) / (records - FEW)
    return { ...sampleOf(ofMost), bytesPerRecord }
  }
  const [connbook] = await measureInTurn([{ name: 'connbook', measure }], LONG_ROUNDS)
  return connbook
}

function sampleOf({ resident, proportional, anonymous }: Memory): Sample {
  return { residentMebibytes: resident, proportionalMebibytes: proportional, anonymousMebibytes: anonymous }
}
