import { App } from 'aws-cdk-lib'
import { TasksStack } from './tasks-stack.js'

new TasksStack(new App(), 'MyTasks')
