import { App, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { TaskSystem } from '../../infra/index.ts'
import { report } from './tasks/reports.ts'

/** A system with a schedule that a handler's file exports, and one that the app adds. */
const stack = new Stack(new App(), 'Baton')
const tasks = new TaskSystem(stack, 'Tasks', { removalPolicy: RemovalPolicy.DESTROY })
tasks.addSchedule('Weekly', { everyMs: 604_800_000, task: report.with({ in: stack.region }) })
tasks.addHandler('Report', { entry: 'test/system/tasks/reports.ts' })
