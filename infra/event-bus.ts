import { EventBus } from 'aws-cdk-lib/aws-events'
import { Construct } from 'constructs'
import { allow, type Grantee } from './permissions/permissions.ts'
import type { Settings } from './settings.ts'

/** Where the system tells what happens. A bus costs nothing while nothing is told. */
export class SystemEvents extends Construct {
  readonly bus: EventBus

  constructor(scope: Construct, id: string, { system }: Settings) {
    super(scope, id)
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: `${system}-events`,
      description: 'Baton: what happens to tasks',
    })
  }

  /** Lets `runner` tell events, and tells it where. */
  openTo(runner: Grantee): void {
    const { eventBusArn, eventBusName } = this.bus
    allow(runner, {
      actions: ['events:PutEvents'],
      resources: [eventBusArn],
      // Of types that ask for it; the local cloud tells everything.
      environment: { BATON_EVENT_BUS: eventBusName, BATON_EVENTS: 'types' },
    })
  }
}
