import type { Fault } from '../errors.ts'
import { type ImportedConfiguration, readNewConfiguration } from '../store/configuration.ts'
import { faultsOfLabelsPatch, type LabelsPatch } from '../store/labels.ts'

/** The last patch without a fault: many rows may share one. */
let soundPatch: LabelsPatch | undefined

/**
 * Checks one row.
 *
 * @param place Where the row stands, for its faults.
 * @returns Undefined if it has faults.
 */
export function parseRow(
  place: Pick<Fault, 'line' | 'name'>,
  fields: Record<string, unknown>,
  labelsPatch: LabelsPatch | undefined,
  addFault: (fault: Fault) => void,
): ImportedConfiguration | undefined {
  const { fields: draft, faults: fieldFaults } = readNewConfiguration(fields)
  const faults =
    labelsPatch === undefined || labelsPatch === soundPatch
      ? fieldFaults
      : [...fieldFaults, ...faultsOfLabelsPatch(labelsPatch)]
  for (const fault of faults) addFault({ ...place, ...fault })
  if (faults.length > 0) return undefined
  soundPatch = labelsPatch
  return labelsPatch === undefined ? draft : { ...draft, labelsPatch }
}
