import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Annotations, NestedStack, Stack } from 'aws-cdk-lib'
import { OUTDIR_ENV } from 'aws-cdk-lib/cx-api'
import { Construct } from 'constructs'
import { type BatonError, illegal } from '../shared/core/values/values.ts'
import { HANDLER_RESOURCES } from './bounds.ts'
import { isDevelopment } from './bundling/bundling.ts'
import { writeGenerated } from './bundling/places.ts'
import type { AlarmLevel } from './settings.ts'

/**
 * The stack of each handler. CloudFormation allows 500 resources in a stack, and a handler takes 8 to 10 of them. So the first 30 handlers
 * are in the system's own stack, and each further handler is in one of 20 nested stacks, which a hash of its construct id chooses. A
 * function of many types counts as the resources that it takes: one of 30 types has as many as 15 handlers. So it may find its nested stack
 * too full, and is put into the next one.
 *
 * A deployed handler must keep its stack. Its queue has a fixed name, so CloudFormation cannot create the queue in another stack before it
 * deletes the first one, and the deployment fails. But which handlers are the first 30 changes when the app removes, inserts or reorders
 * handlers. So places are recorded in `cdk.context.json`, next to the results of CDK's look-ups, and a recorded place always holds.
 * Recording begins with the 20th handler, before the first nested one: a smaller app needs no file. Recorded handlers count as long as the
 * record names them, so a new handler never takes the room of a removed one. `baton dev` follows the record, and does not write it.
 */

/**
 * How many handlers are in the system's own stack, by its level of alarms. A handler takes 8 resources, and 10 with `all`; the
 * system itself takes 62 with `none`, 70 with `essential` and 90 with `all`, and its nested stacks 20. So the system takes at most 350
 * of 500 resources, and the app has the rest.
 */
const HANDLERS_IN_STACK_MAX = { none: 30, essential: 30, all: 24 } as const
/** With more resources a nested stack takes no further handler. This leaves a tenth of CloudFormation's 500 for what users add. */
const NESTED_RESOURCES_MAX = 450
/**
 * The number of nested stacks for further handlers. A hash fills them unevenly: of 300 handlers, one stack has 27 in the usual
 * case, and 34 fit with all alarms. The number may grow, because places are recorded.
 */
const NESTED_STACKS = 20
/**
 * With the resources of this many handlers the record of their places begins. It begins before the first nested stack, because the handlers that
 * are in the system's own stack by then must stay there.
 */
const RECORDED_HANDLERS_MIN = 20

/** Chooses the stack of each handler of one system, and keeps the choice. */
export class Placement extends Construct {
  private readonly system: Construct
  private readonly inOwnStack: Construct
  private readonly alarms: AlarmLevel
  private readonly record: PlaceRecord
  private readonly placements = new Map<string, HandlerPlacement>()
  /** The key of a system that has another system of the app at the same path of another stack. */
  private readonly wholePath: string

  /** `inOwnStack` is the scope of the handlers that are in the system's own stack. */
  constructor(system: Construct, id: string, inOwnStack: Construct, alarms: AlarmLevel) {
    super(system, id)
    this.system = system
    this.inOwnStack = inOwnStack
    this.alarms = alarms
    this.record = readRecord(system)
    this.wholePath = `/${system.node.path}`
    this.node.addValidation({ validate: () => (this.isForeign() ? [this.refusal()] : this.keepPlaces()) })
  }

  /** Creates a handler in its stack. `types` is the number of types that its function serves. */
  add<Handler extends Construct>(id: string, types: number, create: (scope: Construct) => Handler): Handler {
    const recorded = this.entryOf(this.record)[id]
    const place = recorded === undefined ? this.placeOfNew(id, types) : placementOf(recorded).place
    const handler = create(place === OWN_STACK ? this.inOwnStack : this.nestedStack(place))
    this.placements.set(id, { place, types })
    return handler
  }

  nestedStacks(): readonly NestedStack[] {
    return this.node.children.filter(child => child instanceof NestedStack)
  }

  private entryOf(record: PlaceRecord): Places {
    return record[this.wholePath] ?? record[this.pathInStack()] ?? {}
  }

  private placeOfNew(id: string, types: number): string {
    const known = Object.values(this.known())
    const taken = (place: string) =>
      known.filter(one => one.place === place).reduce((sum, one) => sum + this.resourcesOf(one.types), 0)
    const own = this.resourcesOf(this.asRecorded(id, { place: '', types }).types)
    const isRoomIn = (place: string, most: number) => taken(place) + own <= most
    if (isRoomIn(OWN_STACK, HANDLERS_IN_STACK_MAX[this.alarms] * this.resourcesOf(1))) return OWN_STACK
    const places = nestedPlacesOf(id)
    return places.find(place => isRoomIn(place, NESTED_RESOURCES_MAX)) ?? (places[0] as string)
  }

  /** All handlers that are recorded or present. One that is present counts as it is, or as the record has it if that is more. */
  private known(): Readonly<Record<string, HandlerPlacement>> {
    const recorded = Object.entries(this.entryOf(this.record)).map(
      ([id, text]) => [id, placementOf(text)] as const,
    )
    const present = [...this.placements].map(([id, one]) => [id, this.asRecorded(id, one)] as const)
    return Object.fromEntries([...recorded, ...present])
  }

  /** A handler as the record holds it: the number of its types is never recorded smaller again, since a stage may still have them. */
  private asRecorded(id: string, placement: HandlerPlacement): HandlerPlacement {
    const before = this.entryOf(this.record)[id]
    const types = before === undefined ? 1 : placementOf(before).types
    return { ...placement, types: Math.max(types, placementOf(textOf(placement)).types) }
  }

  private resourcesOf(types: number): number {
    const { perFunction, perType } = HANDLER_RESOURCES[this.alarms]
    return perFunction + perType * types
  }

  private nestedStack(place: string): NestedStack {
    const existing = this.node.tryFindChild(place)
    if (existing) return existing as NestedStack
    return new NestedStack(this, place, { description: `Baton: handlers of ${this.system.node.path}` })
  }

  /**
   * The key under which the system's places are recorded. It leaves out the stack's path, so that all stages of an app share the
   * places: a stage that only a pipeline synthesises follows the record that a developer has committed.
   */
  private pathInStack(): string {
    const { path } = topStackOf(this.system).node
    return this.system.node.path.slice(path === '' ? 0 : path.length + 1)
  }

  private isWorthRecording(): boolean {
    const placements = [...this.placements.values()]
    const resources = placements.reduce((sum, { types }) => sum + this.resourcesOf(types), 0)
    const isLarge = resources >= RECORDED_HANDLERS_MIN * this.resourcesOf(1)
    return isLarge || placements.some(({ place }) => place !== OWN_STACK)
  }

  /** Whether the entry may be of the system: it names one of its handlers, and no handler at another place. */
  private fits(entry: Places): boolean {
    const named = [...this.placements].flatMap(([id, { place }]) =>
      entry[id] ? [[entry[id], place] as const] : [],
    )
    return named.length > 0 && named.every(([recorded, place]) => placementOf(recorded).place === place)
  }

  private recordedIn(record: PlaceRecord): PlaceRecord {
    if (this.placements.size === 0 || this.isForeign()) return record
    const [whole, inStack] = [this.wholePath, this.pathInStack()]
    const shared = record[inStack]
    if (record[whole] === undefined && shared === undefined && !this.isWorthRecording()) return record
    const isOwn = record[whole] !== undefined || (shared !== undefined && !this.fits(shared))
    const key = isOwn ? whole : inStack
    const places = [...this.placements].map(([id, one]) => [id, textOf(this.asRecorded(id, one))])
    return { ...record, [key]: { ...record[key], ...Object.fromEntries(places) } }
  }

  /** Records the places of all systems of the app together: a large system may take the entry that a small one would read. */
  private keepPlaces(): string[] {
    const all = this.node.root.node.findAll().filter(one => one instanceof Placement)
    const isLarge = (one: Placement) => one.isWorthRecording()
    const [large, small] = [all.filter(isLarge), all.filter(one => !isLarge(one))]
    const next = [...large, ...small].reduce((record, one) => one.recordedIn(record), this.record)
    // A session of `baton dev` must not fix the place of a handler that may never be deployed.
    if (isDevelopment(this)) return []
    if (isDeepStrictEqual(this.entryOf(this.record), this.entryOf(next))) return []
    Annotations.of(this.system).addWarningV2('baton:places', `${this.system.node.path}: ${saveRecord(next)}`)
    return []
  }

  /** Whether handlers were nested because of an entry that names none of them: the record of another system. */
  private isForeign(): boolean {
    const entry = this.entryOf(this.record)
    const isNamed = [...this.placements.keys()].some(id => entry[id] !== undefined)
    const isNested = [...this.placements.values()].some(({ place }) => place !== OWN_STACK)
    return Object.keys(entry).length > 0 && isNested && !isNamed
  }

  private refusal(): string {
    return `${CONTEXT_FILE} records the handlers of another system at '${this.pathInStack()}'. Add the entry '${this.wholePath}': {} next to it, so that ${this.system.node.path} has places of its own`
  }
}

/** The nested stacks in the order in which a handler takes the first with room. It depends on the handler's construct id only. */
function nestedPlacesOf(id: string): string[] {
  const hash = createHash('sha256').update(id).digest().readUInt32BE()
  return Array.from({ length: NESTED_STACKS }, (_, nth) => `Handlers${((hash + nth) % NESTED_STACKS) + 1}`)
}

/** The stack that contains all nested stacks around a construct. */
function topStackOf(construct: Construct): Stack {
  const stack = Stack.of(construct)
  return stack.nestedStackParent ? topStackOf(stack.nestedStackParent) : stack
}

/** The record of places counts the types of a function in steps of this many, so that a new type rarely changes the record. */
const RECORDED_TYPES_STEP = 5

/** The file in which CDK keeps what it has looked up. Projects commit it. */
const CONTEXT_FILE = 'cdk.context.json'
/** The member of the file that holds the record. */
const PLACES_KEY = 'baton-tasks:places'

/** The place of a handler in the system's own stack. Other places are construct ids of nested stacks. */
const OWN_STACK = 'own'

/**
 * The places of a system's handlers, by their construct ids. The place of a function of several types also says how many types it
 * counts as: `Handlers7:15`.
 */
type Places = Readonly<Record<string, string>>

/** The stack of a handler, and how many types it counts as. */
type HandlerPlacement = { readonly place: string; readonly types: number }

function placementOf(text: string): HandlerPlacement {
  const [place = '', types = '1'] = text.split(':')
  return { place, types: Number(types) }
}

/** A place as it is recorded. A function of several types counts as up to four more, so that it can grow without a new record. */
function textOf({ place, types }: HandlerPlacement): string {
  const counted = Math.ceil(types / RECORDED_TYPES_STEP) * RECORDED_TYPES_STEP
  return types === 1 ? place : `${place}:${counted}`
}

/** The places of each system, by its path in its stack, or by its whole path after a slash. */
type PlaceRecord = Readonly<Record<string, Places>>

/**
 * Reads the record from the app's context and from the file, which the context lacks when no tool has started the synthesis.
 *
 * @throws BatonError `invalid` when the file is not JSON, or the record has a member that is not a place.
 */
function readRecord(scope: Construct): PlaceRecord {
  const inFile = placesIn(readFile()[PLACES_KEY])
  const inContext = placesIn(scope.node.tryGetContext(PLACES_KEY))
  const keys = [...new Set([...Object.keys(inFile), ...Object.keys(inContext)])]
  return Object.fromEntries(keys.map(key => [key, { ...inFile[key], ...inContext[key] }]))
}

/**
 * Writes the record to the file, if a tool has started the synthesis: a unit test of a stack must not change the project's
 * files. Returns what the developer has to do.
 */
function saveRecord(record: PlaceRecord): string {
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
    throw illegal(`${file} cannot be read: ${cause}`, { cause })
  }
}

function placesIn(value: unknown = {}): PlaceRecord {
  const legal = `'own' or 'Handlers' and a number, with ':' and a number of types for several`
  for (const [system, places] of entriesOf(value, ''))
    for (const [handler, place] of entriesOf(places, `.'${system}'`))
      if (!isPlace(place)) throw refusal(`.'${system}'.'${handler}'`, legal, place)
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
  return illegal(`${where} must be ${legal}, not ${JSON.stringify(value)}`)
}

/** Sorts the members by name, so that two branches that add handlers rarely change the same lines. */
function sorted(record: PlaceRecord): PlaceRecord {
  const byName = <Value>(members: Readonly<Record<string, Value>>) =>
    Object.fromEntries(Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1)))
  return byName(Object.fromEntries(Object.entries(record).map(([key, places]) => [key, byName(places)])))
}
