import { EventBus } from 'aws-cdk-lib/aws-events'
import { Construct } from 'constructs'
import type { TypeReach } from './permissions/partitions.ts'
import { allow, type Grantee } from './permissions/permissions.ts'
import type { RolePolicies } from './permissions/role-policies.ts'
import type { FarTimers, Messages } from './queues/queues.ts'
import type { Settings } from './settings.ts'
import type { TaskTable } from './task-table.ts'

/** The constructs and settings that all functions of one system share. */
export type Parts = {
  readonly settings: Settings
  readonly table: TaskTable
  readonly messages: Messages
  readonly timers: FarTimers
  readonly events: SystemEvents
  readonly reach: TypeReach
  readonly policies: RolePolicies
}

/** The event bus on which the system publishes what happens. A bus without events costs nothing. */
export class SystemEvents extends Construct {
  readonly bus: EventBus

  constructor(scope: Construct, id: string, { system }: Settings) {
    super(scope, id)
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: `${system}-events`,
      description: 'Baton: what happens to tasks',
    })
  }

  /** Allows `grantee` to publish events, and sets the variables that name the bus. */
  openTo(grantee: Grantee): void {
    const { eventBusArn, eventBusName } = this.bus
    allow(grantee, {
      actions: ['events:PutEvents'],
      resources: [eventBusArn],
      // With `types`, only the events of types with `events: true` are published. The local cloud publishes all events.
      environment: { BATON_EVENT_BUS: eventBusName, BATON_EVENTS: 'types' },
    })
  }
}
