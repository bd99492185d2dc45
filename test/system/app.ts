import { App, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb'
import { AnyPrincipal, Role } from 'aws-cdk-lib/aws-iam'
import { type Grantee, TaskSystem } from '../../infra/index.ts'

/** The system under test: the real constructs, with handlers that do what a test asks of them. */
const stack = new Stack(new App(), 'Baton')
const tasks = new TaskSystem(stack, 'Tasks', { removalPolicy: RemovalPolicy.DESTROY })

tasks.addHandler('WordCount', { entry: 'functions/tasks/word-count.ts' })
tasks.addHandler('Probe', { entry: 'test/system/tasks/probe.ts' })

/** Types for the members and callbacks of canvases, in one function. */
tasks.addHandlers('Arithmetic', { entries: 'test/system/tasks/arith*.ts' })

/** Steps of a saga: a handler's step and its undo, and a worker's step and its undo. A test claims the third step over HTTP. */
tasks.addHandler('Check', { entry: 'test/system/tasks/saga.ts', task: 'check' })
tasks.addHandler('Report', { entry: 'test/system/tasks/saga.ts', task: 'report' })
tasks.addWorkerQueue('Init', { entry: 'test/system/tasks/by-workers.ts', task: 'init' })
tasks.addWorkerQueue('Clean', { entry: 'test/system/tasks/by-workers.ts', task: 'clean' })

/** Types that workers serve. A test starts the workers. */
tasks.addWorkerQueue('Video', { entry: 'test/system/tasks/by-workers.ts', task: 'video' })
tasks.addWorkerQueue('Clip', { entry: 'test/system/tasks/by-workers.ts', task: 'clip' })

/** A handler that may publish tasks of its own type only. */
tasks.addHandler('Alone', { entry: 'test/system/tasks/alone.ts', otherTypes: [] })

/** Types that a worker service serves. The local cloud runs the service as a process. */
tasks.addWorkerService('Media', { entry: 'test/system/tasks/encode.ts' })

/** Roles of a user's programs, each with one grant. Tests make calls under these roles. */
tasks.grantPublish(aProgram('Publisher'))
tasks.grantPublish(aProgram('ClipPublisher'), { types: ['clip'] })
tasks.grantRead(aProgram('Reader'))
tasks.grantOperate(aProgram('Operator'))
tasks.grantOperate(aProgram('ClipOperator'), { types: ['clip'] })
tasks.grantServe(aRole('StudioWorker'), { types: ['clip', 'video', 'mysql.init', 'mysql.clean'] })

/** A table of the user, and a program that writes it and publishes within its transactions. */
const orders = new Table(stack, 'Orders', {
  partitionKey: { name: 'id', type: AttributeType.STRING },
  billingMode: BillingMode.PAY_PER_REQUEST,
  removalPolicy: RemovalPolicy.DESTROY,
})
const shop = aRole('Shop')
orders.grantReadWriteData(shop)
tasks.grantPublish(programOf(shop))

function aRole(id: string): Role {
  return new Role(stack, id, { assumedBy: new AnyPrincipal() })
}

function aProgram(id: string): Grantee {
  return programOf(aRole(id))
}

function programOf(role: Role): Grantee {
  return { addToRolePolicy: statement => role.addToPrincipalPolicy(statement), addEnvironment: () => {} }
}
