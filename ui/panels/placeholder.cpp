// Keeps the target buildable until its first source file is here.
