import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { OUTDIR_ENV } from 'aws-cdk-lib/cx-api'
import type { Construct } from 'constructs'
import { BatonError } from '../../shared/core/errors.ts'
import { writeGenerated } from '../bundling/places.ts'

/** The record of places counts the types of a function in steps of this many, so that a new type seldom changes the record. */
const RECORDED_TYPES_STEP = 5

/** The file in which CDK keeps what it has looked up. Projects commit it. */
export const CONTEXT_FILE = 'cdk.context.json'
/** The member of the file that holds the record. */
const PLACES_KEY = 'baton-tasks:places'

/** The place of a handler in the system's own stack. Other places are construct ids of nested stacks. */
export const OWN_STACK = 'own'

/**
 * The places of a system's handlers, by their construct ids. The place of a function of several types also says how many types it
 * counts as: `Handlers7:15`.
 */
export type Places = Readonly<Record<string, string>>

/** Where a handler stands, and how many types it counts as. */
export type Stand = { readonly place: string; readonly types: number }

/** Reads a recorded place. */
export function standOf(text: string): Stand {
  const [place = '', types = '1'] = text.split(':')
  return { place, types: Number(types) }
}

/** A place as it is recorded. A function of several types counts as up to four more, so that it can grow without a new record. */
export function textOf({ place, types }: Stand): string {
  const counted = Math.ceil(types / RECORDED_TYPES_STEP) * RECORDED_TYPES_STEP
  return types === 1 ? place : `${place}:${counted}`
}

/** The places of each system, by its path in its stack, or by its whole path after a slash. */
export type PlaceRecord = Readonly<Record<string, Places>>

/**
 * Reads the record from the app's context and from the file, which the context lacks when no tool has started the synthesis.
 *
 * @throws BatonError `invalid` when the file is no JSON, or the record has a member that is no place.
 */
export function readRecord(scope: Construct): PlaceRecord {
  const inFile = placesIn(readFile()[PLACES_KEY])
  const inContext = placesIn(scope.node.tryGetContext(PLACES_KEY))
  const keys = [...new Set([...Object.keys(inFile), ...Object.keys(inContext)])]
  return Object.fromEntries(keys.map(key => [key, { ...inFile[key], ...inContext[key] }]))
}

/**
 * Writes the record to the file, if a tool has started the synthesis: a unit test of a stack must not change the project's
 * files. Returns what the developer has to do.
 */
export function saveRecord(record: PlaceRecord): string {
  if (process.env[OUTDIR_ENV] === undefined) {
    return `${CONTEXT_FILE} does not record the places of all handlers yet; synthesise with cdk, and commit the file`
  }
  try {
    const text = JSON.stringify({ ...readFile(), [PLACES_KEY]: sorted(record) }, null, 2)
    writeGenerated(resolve(CONTEXT_FILE), `${text}\n`)
    return `the places of its handlers are now recorded in ${CONTEXT_FILE}; commit this file, or a later deployment may move handlers to other stacks and fail`
  } catch (cause) {
    return `the places of its handlers cannot be recorded in ${CONTEXT_FILE} (${cause}); synthesise where the file can be written, and commit it, or a later deployment may move handlers to other stacks and fail`
  }
}

function readFile(): Record<string, unknown> {
  const file = resolve(CONTEXT_FILE)
  if (!existsSync(file)) return {}
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  } catch (cause) {
    throw new BatonError('invalid', `${file} cannot be read: ${cause}`, { cause })
  }
}

function placesIn(value: unknown = {}): PlaceRecord {
  for (const [system, places] of entriesOf(value, '')) {
    for (const [handler, place] of entriesOf(places, `.'${system}'`)) {
      if (!isPlace(place))
        throw refusal(
          `.'${system}'.'${handler}'`,
          `'own' or 'Handlers' and a number, with ':' and a number of types for several`,
          place,
        )
    }
  }
  return value as PlaceRecord
}

function entriesOf(value: unknown, path: string): Array<[string, unknown]> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value)
  throw refusal(path, 'an object', value)
}

function isPlace(place: unknown): boolean {
  return typeof place === 'string' && /^(?:own|Handlers[1-9]\d{0,3})(?::[1-9]\d?)?$/.test(place)
}

function refusal(path: string, legal: string, value: unknown): BatonError {
  const where = `'${PLACES_KEY}'${path} of ${CONTEXT_FILE}, or of the app's context,`
  return new BatonError('invalid', `${where} must be ${legal}, not ${JSON.stringify(value)}`)
}

/** Sorts the members by name, so that two branches that add handlers seldom change the same lines. */
function sorted(record: PlaceRecord): PlaceRecord {
  const byName = <Value>(members: Readonly<Record<string, Value>>) =>
    Object.fromEntries(Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1)))
  return byName(Object.fromEntries(Object.entries(record).map(([key, places]) => [key, byName(places)])))
}
