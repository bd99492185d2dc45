import { Stack, type StackProps } from 'aws-cdk-lib'
import { TaskSystem } from 'baton-tasks/cdk'
import type { Construct } from 'constructs'

export class TasksStack extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props)
    const tasks = new TaskSystem(this, 'Tasks')
    tasks.addHandler('Welcome', { entry: 'tasks/welcome.ts' })
    tasks.addHandlers('OrderSteps', { entries: 'tasks/order-*.ts' })
    tasks.addFlow('Order', { entry: 'flows/order.ts' })
  }
}
