import { inputSchemaRecord } from '../../core/record-names.ts'
import type { TypeConfiguration } from '../../core/types/task-type.ts'
import type { Json } from '../../core/values/values.ts'
import { createTimedCache, processMemory, type System } from '../kernel/system.ts'

/**
 * The JSON Schema of a type's input may have 32 KB, and each publish reads the type. So the schema is a record of its own, whose name
 * follows from its content, and the type has only that name. A process reads each record once. The records are kept for ever: a type has
 * few versions of its schema.
 */

/** DynamoDB keeps the record for good. */
const NEVER = Date.UTC(9999, 0)

/** Stores the schema of the input, and returns the configuration as the type has it. */
export async function withStoredSchema(
  { records }: Pick<System, 'records'>,
  configuration: TypeConfiguration,
): Promise<TypeConfiguration> {
  const { inputSchema, ...rest } = configuration
  if (!inputSchema) return configuration
  const schemaName = inputSchemaRecord(inputSchema)
  await records.put(schemaName, inputSchema, NEVER)
  return { ...rest, schemaName }
}

const cacheOf = processMemory(() => createTimedCache<Json | undefined>(Number.POSITIVE_INFINITY))

/** The schema of the input. Types that earlier versions have stored contain it. */
export async function inputSchemaOf(
  { records, clock }: Pick<System, 'records' | 'clock'>,
  { inputSchema, schemaName }: TypeConfiguration,
): Promise<TypeConfiguration['inputSchema']> {
  if (schemaName === undefined) return inputSchema
  const cache = cacheOf(records)
  const { value } = await cache.get(clock, schemaName, () => records.get(schemaName))
  if (value === undefined) cache.forget(schemaName)
  return value as TypeConfiguration['inputSchema']
}
