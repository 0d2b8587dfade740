// SPDX-License-Identifier: MIT
// Macros that headers of other libraries define, by words that a library or a program might use. The public headers
// must compile after them, and leave them as they were.

// windows.h and what it includes
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define small char
#define near
#define far
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define ERROR 0
#define TRUE 1
#define FALSE 0
#define DELETE 0x00010000L
#define ABSOLUTE 1
#define RELATIVE 2
#define OPAQUE 2
// Xlib.h and X.h
#define Bool int
#define Status int
#define True 1
#define False 0
#define None 0L
#define Success 0
#define Always 2
#define Complex 0
#define Above 0
// Unreal Engine, and AssertMacros.h of Apple
#define check(expression) ((void)(expression))
#define verify(expression) ((void)(expression))
#define require(expression, label) \
    do {                           \
        if (!(expression)) {       \
            goto label;            \
        }                          \
    } while (false)
// sys/sysmacros.h
#define major(device) gnu_dev_major(device)
#define minor(device) gnu_dev_minor(device)
#define makedev(high, low) gnu_dev_makedev(high, low)
// complex.h
#define I _Complex_I
// Qt
#define slots
#define signals public
#define emit
#define foreach for
