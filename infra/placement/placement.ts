/**
 * The stack of each handler. CloudFormation allows 500 resources in a stack, and a handler takes 10 to 13 of them. So the first 30
 * handlers stand in the system's own stack, and each further handler in one of 20 nested stacks, which a hash of its construct
 * id chooses.
 *
 * A deployed handler must keep its stack. Its queue has a fixed name, so CloudFormation cannot create the queue in another stack
 * before it deletes the first one, and the deployment fails. But which handlers are the first 30 changes when the app removes,
 * inserts or reorders handlers. So places are recorded in `cdk.context.json` (`record.ts`), beside the results of CDK's look-ups,
 * and a recorded place always holds. Recording begins with the 20th handler, before the first nested one: a smaller app needs no
 * file. Recorded handlers count as long as the record names them, so a new handler never takes the room of a removed one. `baton dev`
 * follows the record, and does not write it.
 */

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Annotations, NestedStack, Stack } from 'aws-cdk-lib'
import { Construct } from 'constructs'
import { HANDLERS_IN_STACK_MAX, NESTED_STACKS, RECORDED_HANDLERS_MIN } from '../bounds.ts'
import { isDevelopment } from '../bundling/user-code.ts'
import type { AlarmLevel } from '../settings.ts'
import { CONTEXT_FILE, OWN_STACK, type PlaceRecord, type Places, readRecord, saveRecord } from './record.ts'

/** Chooses the stack of each handler of one system, and keeps the choice. */
export class Placement extends Construct {
  private readonly system: Construct
  private readonly inOwnStack: Construct
  private readonly inOwnStackMax: number
  private readonly record: PlaceRecord
  private readonly places = new Map<string, string>()

  /** `inOwnStack` is the scope of the handlers that stand in the system's own stack. */
  constructor(system: Construct, id: string, inOwnStack: Construct, alarms: AlarmLevel) {
    super(system, id)
    this.system = system
    this.inOwnStack = inOwnStack
    this.inOwnStackMax = HANDLERS_IN_STACK_MAX[alarms]
    this.record = readRecord(system)
    this.node.addValidation({ validate: () => (this.isForeign() ? [this.refusal()] : this.keepPlaces()) })
  }

  /** Creates a handler in its stack. */
  add<Handler extends Construct>(id: string, create: (scope: Construct) => Handler): Handler {
    const place = this.entryOf(this.record)[id] ?? this.placeOfNew(id)
    const handler = create(place === OWN_STACK ? this.inOwnStack : this.nestedStack(place))
    this.places.set(id, place)
    return handler
  }

  /** The nested stacks that handlers stand in. */
  nestedStacks(): readonly NestedStack[] {
    return this.node.children.filter(child => child instanceof NestedStack)
  }

  private entryOf(record: PlaceRecord): Places {
    return record[this.wholePath()] ?? record[this.pathInStack()] ?? {}
  }

  private placeOfNew(id: string): string {
    const known = Object.entries({ ...this.entryOf(this.record), ...Object.fromEntries(this.places) })
    const inOwnStack = known.filter(([, place]) => place === OWN_STACK)
    return inOwnStack.length < this.inOwnStackMax ? OWN_STACK : nestedPlaceOf(id)
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

  /** The key of a system that has another system of the app at the same path of another stack. */
  private wholePath(): string {
    return `/${this.system.node.path}`
  }

  private isWorthRecording(): boolean {
    const places = [...this.places.values()]
    return places.length >= RECORDED_HANDLERS_MIN || places.some(place => place !== OWN_STACK)
  }

  /** Whether the entry may be of the system: it names one of its handlers, and no handler at another place. */
  private fits(entry: Places): boolean {
    const named = [...this.places].filter(([id]) => entry[id] !== undefined)
    return named.length > 0 && named.every(([id, place]) => entry[id] === place)
  }

  /** Returns the record with the places of this system. */
  private recordedIn(record: PlaceRecord): PlaceRecord {
    if (this.places.size === 0 || this.isForeign()) return record
    const [whole, inStack] = [this.wholePath(), this.pathInStack()]
    const shared = record[inStack]
    if (record[whole] === undefined && shared === undefined && !this.isWorthRecording()) return record
    const isOwn = record[whole] !== undefined || (shared !== undefined && !this.fits(shared))
    const key = isOwn ? whole : inStack
    return { ...record, [key]: { ...record[key], ...Object.fromEntries(this.places) } }
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
    const isNamed = [...this.places.keys()].some(id => entry[id] !== undefined)
    const isNested = [...this.places.values()].some(place => place !== OWN_STACK)
    return Object.keys(entry).length > 0 && isNested && !isNamed
  }

  private refusal(): string {
    return (
      `${CONTEXT_FILE} records the handlers of another system at '${this.pathInStack()}'. ` +
      `Add the entry '${this.wholePath()}': {} beside it, so that ${this.system.node.path} has places of its own`
    )
  }
}

/** The nested stack of a handler. It depends on the handler's construct id only. */
function nestedPlaceOf(id: string): string {
  const hash = createHash('sha256').update(id).digest().readUInt32BE()
  return `Handlers${(hash % NESTED_STACKS) + 1}`
}

/** The stack that contains all nested stacks around a construct. */
function topStackOf(construct: Construct): Stack {
  const stack = Stack.of(construct)
  return stack.nestedStackParent ? topStackOf(stack.nestedStackParent) : stack
}
